/** Reads the page, which the build puts next to the program. */
import type { Page, PageFile } from "@skein/server/ServerOptions"
import * as Effect from "effect/Effect"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { extname, join, sep } from "node:path"
import { fileURLToPath } from "node:url"
import { UsageError } from "../../UsageError.ts"

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml"
}

const fileAt = (path: string, immutable: boolean): PageFile => ({
  type: types[extname(path)] ?? "application/octet-stream",
  body: readFileSync(path),
  encoded: { br: readFileSync(`${path}.br`), gzip: readFileSync(`${path}.gz`) },
  immutable
})

const read = (directory: string): Page => {
  const names = readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => extname(name) in types)
  return new Map(names.map((name) => {
    const isIndex = name === "index.html"
    return [isIndex ? "/" : `/${name.split(sep).join("/")}`, fileAt(join(directory, name), !isIndex)]
  }))
}

/** The files of the page; none if the program was built without it. */
export const readPage: Effect.Effect<Page, UsageError> = Effect.try({
  try: () => {
    const directory = fileURLToPath(new URL("page/", import.meta.url))
    return existsSync(directory) ? read(directory) : new Map()
  },
  catch: (cause) =>
    new UsageError({
      message: `The page cannot be read (${
        cause instanceof Error ? cause.message : String(cause)
      }). Install skein again.`
    })
})
