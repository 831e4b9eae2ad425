/** Seals of manifests: signatures and HMACs. Start at {@code SealCheck}, which verifies them, or {@code Sealer}. */
package io.pmeparquet.snapshot.seal;
