"""Pages of Spark's UI, below its address."""

UI = ("jobs/", "environment/", "executors/", "SQL/", "api/v1/applications/{id}/environment")
UI_OF_QUERIES = "api/v1/applications/{id}/sql?details=true&planDescription=true&length=1000"
UI_OF_EXECUTORS = "api/v1/applications/{id}/allexecutors"
