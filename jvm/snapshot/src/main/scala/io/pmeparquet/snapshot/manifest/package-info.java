/**
 * Manifests: their content, their form in JSON, and their seals, which are signatures or HMACs. Start at
 * {@code Manifest}; {@code SealCheck} verifies seals, and a {@code Sealer} makes them.
 */
package io.pmeparquet.snapshot.manifest;
