# Databricks notebook source
# MAGIC %md
# MAGIC # Does pme-parquet hold its promises here?
# MAGIC
# MAGIC Needs a cluster in the *dedicated* access mode, with the connector's jar and the wheel as libraries, and this
# MAGIC folder in the workspace. `directory` is a volume or another place that the cluster can write to.
# MAGIC The checks make a directory of their own in it, which stays.

# COMMAND ----------

dbutils.widgets.text("directory", "/Volumes/main/default/pme_check")  # noqa: F821 Databricks defines it

# COMMAND ----------

import check_platform

directory = dbutils.widgets.get("directory")  # noqa: F821 as above
print(check_platform.platform(spark))  # noqa: F821 as above
found = check_platform.run(spark, directory)  # noqa: F821 as above
print(check_platform.shown(found))

# COMMAND ----------

display(spark.createDataFrame(found, "promise string, found string, detail string"))  # noqa: F821 as above

# COMMAND ----------

# A job that runs this notebook fails if a promise does not hold.
broken = [one.promise for one in found if one.found == "no"]
if broken:
    message = f"{len(broken)} promises do not hold: {'; '.join(broken)}"
    raise AssertionError(message)
