# Databricks notebook source
# ruff: noqa: D100, ERA001, E402, F821 Databricks defines names, and has a format of its own
# mypy: ignore-errors
# MAGIC %md
# MAGIC # Does pme-parquet hold its promises here?
# MAGIC
# MAGIC Needs a cluster in the *dedicated* access mode, with the init script and the wheel of the README, and this
# MAGIC folder in the workspace. `directory` is a volume or another place that the cluster can write to.
# MAGIC The checks make a directory of their own in it, which stays.

# COMMAND ----------

dbutils.widgets.text("directory", "/Volumes/main/default/pme_check")

# COMMAND ----------

import check_platform

directory = dbutils.widgets.get("directory")
print(check_platform.platform(spark))
found = check_platform.run(spark, directory)
print(check_platform.shown(found))

# COMMAND ----------

display(spark.createDataFrame(found, "promise string, found string, detail string"))

# COMMAND ----------

# A job that runs this notebook fails if a promise does not hold.
broken = [one.promise for one in found if one.found == "no"]
if broken:
    message = f"{len(broken)} promises do not hold: {'; '.join(broken)}"
    raise AssertionError(message)
