// @ts-check
// Builds the page, packages/web, into static files beside the command line program, which serves them: named by their
// content, and compressed here, so that nobody has to compress them while people wait.
import * as esbuild from "esbuild"
import { createHash } from "node:crypto"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, extname, join } from "node:path"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"
import { bundleDir, root } from "./layout.mjs"

const source = join(root, "packages", "web", "src")

/** Where the files of the page go. */
export const pageDir = join(bundleDir, "page")

/**
 * The files of the page, by name.
 * @returns {Promise<{ readonly files: ReadonlyMap<string, Uint8Array>, readonly inputs: ReadonlyArray<string> }>}
 */
export const buildPage = async () => {
  const { metafile, outputFiles } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: { app: join(source, "main.tsx"), style: join(source, "style", "main.css") },
    entryNames: "assets/[name]-[hash]",
    outdir: pageDir,
    bundle: true,
    splitting: true,
    chunkNames: "assets/[name]-[hash]",
    format: "esm",
    platform: "browser",
    target: ["chrome115", "firefox117", "safari17"],
    jsx: "automatic",
    jsxImportSource: "preact",
    alias: {
      "decode-named-character-reference": join(source, "parts", "markup.ts"),
      "micromark-extension-gfm-footnote": join(source, "parts", "noFootnotes.ts")
    },
    minify: true,
    legalComments: "none",
    logLevel: "warning",
    metafile: true,
    write: false
  })
  /** @type {Map<string, Uint8Array>} */
  const files = new Map()
  for (const { contents, path } of outputFiles) files.set(`assets/${basename(path)}`, contents)
  const named = (/** @type {string} */ name, /** @type {string} */ extension) =>
    [...files.keys()].find((file) => basename(file).startsWith(`${name}-`) && extname(file) === extension) ?? ""
  const icon = readFileSync(join(source, "icon.svg"))
  const iconName = `assets/icon-${createHash("sha256").update(icon).digest("hex").slice(0, 8)}.svg`
  files.set(iconName, icon)
  const html = readFileSync(join(source, "index.html"), "utf8")
    .replace("{{script}}", `/${named("app", ".js")}`)
    .replace("{{style}}", `/${named("style", ".css")}`)
    .replace("{{icon}}", `/${iconName}`)
  files.set("index.html", Buffer.from(html))
  return { files, inputs: Object.keys(metafile.inputs) }
}

/** Writes the page, and returns which sources and libraries it is made of. */
export const writePage = async () => {
  const { files, inputs } = await buildPage()
  rmSync(pageDir, { recursive: true, force: true })
  for (const [name, content] of files) {
    const path = join(pageDir, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
    writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }))
    const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length }
    writeFileSync(`${path}.br`, brotliCompressSync(content, { params }))
  }
  return inputs
}
