import { defineConfig } from "vitest/config";

// Three files with fixed names, which the command embeds: index.html, viewer.js, viewer.css.
export default defineConfig({
  base: "./",
  test: { setupFiles: "test/setup.ts" },
  // one three.js: that of its controls is the one that draws
  resolve: { alias: [{ find: /^three$/, replacement: "three/webgpu" }] },
  build: {
    target: "esnext",
    chunkSizeWarningLimit: 2000,
    modulePreload: false,
    cssCodeSplit: false,
    rollupOptions: {
      output: {
        entryFileNames: "viewer.js",
        assetFileNames: "viewer[extname]",
      },
    },
  },
});
