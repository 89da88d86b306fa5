/** Proves that the views bring nothing along: a page stays small, and the terminal starts fast. */
import * as esbuild from "esbuild"
import { readdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"

it("contains nothing but itself", async () => {
  const directory = fileURLToPath(new URL("../src/", import.meta.url))
  const { metafile } = await esbuild.build({
    entryPoints: readdirSync(directory).map((name) => `${directory}${name}`),
    bundle: true,
    format: "esm",
    outdir: "out",
    write: false,
    metafile: true
  })
  const foreign = Object.keys(metafile.inputs).filter((file) => !file.includes("packages/view/src/"))
  expect(foreign).toEqual([])
})
