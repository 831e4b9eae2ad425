import scala.xml.{Elem, Node}
import scala.xml.transform.{RewriteRule, RuleTransformer}

/** Drops the `dependencies` of a POM: every dependency of the connector is provided by the cluster. */
object PomWithoutDependencies extends (Node => Node) {
  private val rule = new RewriteRule {
    override def transform(node: Node): Seq[Node] = node match {
      case element: Elem if element.label == "dependencies" => Nil
      case other => other
    }
  }
  def apply(pom: Node): Node = new RuleTransformer(rule)(pom)
}
