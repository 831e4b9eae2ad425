addSbtPlugin("com.eed3si9n" % "sbt-assembly" % "2.3.1")
addSbtPlugin("org.scalameta" % "sbt-scalafmt" % "2.6.2")
// It adds a document of each module's packages to what is published.
if (sys.env.contains("PME_RELEASE")) addSbtPlugin("com.github.sbt" % "sbt-sbom" % "0.5.0") else Nil
