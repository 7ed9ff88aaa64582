import { defineConfig } from "vite";

// The built files have no hashes in their names, so that a new build changes only the content of the committed files.
export default defineConfig({
  base: "./",
  build: {
    outDir: process.env.ASSETS ?? "../internal/dashboard/assets",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    sourcemap: false,
    reportCompressedSize: true,
    rolldownOptions: {
      input: "index.html",
      output: {
        entryFileNames: "app.js",
        chunkFileNames: "[name].js",
        assetFileNames: (asset) => (asset.names.some((name) => name.endsWith(".css")) ? "app.css" : "[name][extname]"),
      },
    },
  },
});
