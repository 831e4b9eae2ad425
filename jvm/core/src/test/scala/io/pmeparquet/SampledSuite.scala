package io.pmeparquet

/** A suite whose tests try some of many cases in `make test`, and all in `make test-all`. */
trait SampledSuite {
  protected val isWhole: Boolean = sys.env.contains("PME_TEST_ALL")
}
