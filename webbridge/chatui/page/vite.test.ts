// SPDX-License-Identifier: Apache-2.0
import { readdirSync } from "node:fs";
import { defineConfig } from "vite";

// The unit tests, as modules that "node --test" runs.
export default defineConfig({
  publicDir: false,
  build: {
    ssr: true,
    outDir: "node_modules/.cache/test",
    emptyOutDir: true,
    target: "node20",
    minify: false,
    reportCompressedSize: false,
    rollupOptions: {
      input: readdirSync("test").filter((f) => f.endsWith(".test.ts")).map((f) => "test/" + f),
      output: { entryFileNames: "[name].js" },
    },
  },
});
