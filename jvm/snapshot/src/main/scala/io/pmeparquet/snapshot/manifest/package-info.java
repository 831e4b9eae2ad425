/** Manifests: their content, and their form in JSON. Start at {@code Manifest}. */
package io.pmeparquet.snapshot.manifest;
