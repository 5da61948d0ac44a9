// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vite";

// One script and one style sheet, named by their content. Paths are relative, which lets the page
// work below any prefix.
export default defineConfig({
  base: "./",
  publicDir: false,
  build: {
    outDir: "../dist",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    sourcemap: false,
    license: { fileName: "licenses.md" },
    chunkSizeWarningLimit: 700,
  },
});
