// As a user writes it, but for the versions and the repository, which the test chooses.
scalaVersion := sys.props("scala")
resolvers += "release" at sys.props("release")
libraryDependencies ++= Seq(
  "io.pmeparquet" %% s"pme-parquet-spark-${sys.props("line")}" % sys.props("ours"),
  "org.apache.spark" %% "spark-sql" % sys.props("spark")
)
// Of Spark, only the jar with its data sources: all of it takes a minute.
assembly / assemblyJarName := "uber.jar"
assembly / assemblyExcludedJars := (assembly / fullClasspath).value
  .filterNot(jar => Seq("pme-parquet-spark-", "spark-sql_", "classes").exists(jar.data.getName.startsWith))
fork := true
javaOptions ++= Seq("java.lang", "java.lang.invoke", "java.nio", "java.util", "sun.nio.ch", "sun.util.calendar")
  .map(name => s"--add-opens=java.base/$name=ALL-UNNAMED")
