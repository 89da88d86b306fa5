#!/usr/bin/env node
const bundle = new URL("../dist/bundle/skein.mjs", import.meta.url)

import(bundle.href).catch(async (cause) => {
  const { existsSync } = await import("node:fs")
  if (existsSync(bundle)) throw cause
  process.stderr.write(
    "skein: the program is not built yet. In a clone, \"npm run build\" builds it, and so does \"npm start\".\n"
  )
  process.exitCode = 1
})
