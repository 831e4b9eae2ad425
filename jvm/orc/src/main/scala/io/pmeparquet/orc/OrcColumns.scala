package io.pmeparquet.orc

import java.util.Locale

import scala.collection.JavaConverters._

import org.apache.orc.{DataMask, OrcUtils, TypeDescription}
import org.apache.orc.impl.ParserUtils
import org.apache.orc.TypeDescription.Category

import io.pmeparquet.columns.{ColumnProtection, KeyPlan, LeafColumn}
import io.pmeparquet.columns.ColumnProtection.ColumnKey
import io.pmeparquet.options.OrcWriteSettings
import io.pmeparquet.PmeErrors

/** The columns of an ORC schema: their names, and the options of ORC that encrypt and mask them. */
object OrcColumns {

  /** The leaf columns, in the order of their ids. Elements of lists and maps have the names that Spark gives them. */
  def leaves(schema: TypeDescription): Seq[LeafColumn] = below(schema, Nil, Nil).map(_._1)

  private def below(
      node: TypeDescription,
      path: List[String],
      sparkPath: List[String]
  ): Seq[(LeafColumn, TypeDescription)] = {
    val inner = children(node)
    if (inner.isEmpty) Seq(LeafColumn(path, sparkPath) -> node)
    else inner.flatMap { case (orc, spark, child) => below(child, path :+ orc, sparkPath :+ spark) }
  }

  /** The children of a type, each with its name in ORC and its name in Spark. */
  private def children(node: TypeDescription): Seq[(String, String, TypeDescription)] = {
    val types = Option(node.getChildren).fold(Seq.empty[TypeDescription])(_.asScala.toVector)
    val (orc, spark) = node.getCategory match {
      case Category.STRUCT =>
        val names = node.getFieldNames.asScala.toVector
        (names, names)
      case Category.LIST => (Seq("_elem"), Seq("element"))
      case Category.MAP => (Seq("_key", "_value"), Seq("key", "value"))
      case _ =>
        val numbers = types.indices.map(_.toString)
        (numbers, numbers)
    }
    orc.zip(spark).zip(types).map { case ((one, other), child) => (one, other, child) }
  }

  /**
   * The value of `orc.encrypt` for a write. A struct, list or map whose leaves all have one key is encrypted as a whole, so
   * that its lengths and nulls are, too.
   *
   * @throws io.pmeparquet.PmeException if `columnKeys` does not fit the schema
   */
  def encryptText(schema: TypeDescription, settings: OrcWriteSettings): String = {
    val plan = KeyPlan.of(leaves(schema), Some(settings.columns), settings.unlisted, settings.caseSensitive)
    val keys = plan.columns.map { case (leaf, protection) => leaf.path -> protection }.toMap
    val roots = children(schema).flatMap { case (name, _, child) => rootsOf(child, List(name), keys) }
    roots
      .groupBy(_._1)
      .toSeq
      .sortBy(_._1)
      .map { case (key, some) =>
        s"${quoted(key)}:${some.map(_._2.map(quotedName).mkString(".")).mkString(",")}"
      }
      .mkString(";")
  }

  private def rootsOf(
      node: TypeDescription,
      path: List[String],
      keys: Map[Seq[String], ColumnProtection]
  ): Seq[(String, List[String])] = {
    val protections = below(node, path, path).map { case (leaf, _) => keys(leaf.path) }.distinct
    protections match {
      case Seq(ColumnKey(key)) => Seq(key -> path)
      case _ => children(node).flatMap { case (name, _, child) => rootsOf(child, path :+ name, keys) }
    }
  }

  /** ORC reads the names of elements of lists and maps only without quotes. */
  private def quotedName(name: String) = if (Elements(name)) name else quoted(name)
  private val Elements = Set("_elem", "_key", "_value")

  private def quoted(name: String) = "`" + name.replace("`", "``") + "`"

  /** The master keys that a value of `orc.encrypt` names for a schema. */
  def keysIn(encrypt: String, schema: TypeDescription): Seq[String] = {
    val annotated = annotatedWith(schema, encrypt, null)
    all(annotated).flatMap(node => Option(node.getAttributeValue(TypeDescription.ENCRYPT_ATTRIBUTE))).distinct
  }

  /**
   * Requires that a value of `orc.mask` masks encrypted columns with masks that ORC has: ORC ignores masks of others.
   *
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION`
   */
  def requireMasks(schema: TypeDescription, encrypt: String, mask: String): Unit = {
    val annotated =
      try annotatedWith(schema, encrypt, mask)
      catch {
        case bad: IllegalArgumentException => throw PmeErrors.badMask(mask, String.valueOf(bad.getMessage))
      }
    def walk(node: TypeDescription, encrypted: Boolean): Unit = {
      val own = encrypted || node.getAttributeValue(TypeDescription.ENCRYPT_ATTRIBUTE) != null
      Option(node.getAttributeValue(TypeDescription.MASK_ATTRIBUTE)).foreach { text =>
        if (!own) throw PmeErrors.badMask(mask, s"column '${node.getFullFieldName}' is not encrypted")
        if (isRedact(text)) firstText(node).foreach(name => throw PmeErrors.orcRedactedText(mask, name))
        try {
          DataMask.Factory.build(ParserUtils.buildMaskDescription(text), node, (_: TypeDescription) => null)
          ()
        } catch {
          case bad: IllegalArgumentException => throw PmeErrors.badMask(mask, String.valueOf(bad.getMessage))
        }
      }
      Option(node.getChildren).foreach(_.asScala.foreach(walk(_, own)))
    }
    walk(annotated, encrypted = false)
  }

  private def isRedact(mask: String) = mask.trim.toLowerCase(Locale.ROOT).startsWith("redact")

  private def firstText(node: TypeDescription): Option[String] =
    all(node).find(one => Texts(one.getCategory)).map(_.getFullFieldName)

  private val Texts = Set(Category.STRING, Category.CHAR, Category.VARCHAR)

  /**
   * Refuses Bloom filters of encrypted columns: ORC's writer stores those of the values next to the encrypted ones.
   *
   * @param columns the value of `orc.bloom.filter.columns`
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION`
   */
  def requireNoBloomFilters(schema: TypeDescription, encrypt: String, columns: String): Unit = {
    val asked = OrcUtils.includeColumns(columns, schema)
    def walk(node: TypeDescription, encrypted: Boolean): Unit = {
      val own = encrypted || node.getAttributeValue(TypeDescription.ENCRYPT_ATTRIBUTE) != null
      if (own && asked(node.getId)) throw PmeErrors.orcBloomFilter(node.getFullFieldName)
      Option(node.getChildren).foreach(_.asScala.foreach(walk(_, own)))
    }
    walk(annotatedWith(schema, encrypt, null), encrypted = false)
  }

  private def annotatedWith(schema: TypeDescription, encrypt: String, mask: String) = {
    val copy = schema.clone()
    copy.annotateEncryption(encrypt, mask)
    copy
  }

  private def all(node: TypeDescription): Seq[TypeDescription] =
    node +: Option(node.getChildren).fold(Seq.empty[TypeDescription])(_.asScala.toVector.flatMap(all))
}
