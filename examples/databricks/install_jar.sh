#!/bin/bash
# An init script of a cluster, not run on Databricks yet. Spark loads its session extensions before cluster libraries are
# there, so the connector's jar has to be on Spark's own class path.
# PME_JAR, an environment variable of the cluster, is the path of the jar.
set -euo pipefail
cp "$PME_JAR" /databricks/jars/
