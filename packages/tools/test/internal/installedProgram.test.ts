import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { installedPackages } from "../../src/internal/sandbox/visiblePlaces.ts"

describe("the packages of an installed program", () => {
  const top = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "skein-installed-")))
  afterAll(() => fs.rmSync(top, { recursive: true, force: true }))

  const make = (at: string, dependencies: Readonly<Record<string, string>>) => {
    fs.mkdirSync(path.join(top, at, "dist"), { recursive: true })
    fs.writeFileSync(path.join(top, at, "package.json"), JSON.stringify({ dependencies }))
    return path.join(top, at)
  }

  it("are its own and those that it depends on, wherever Node finds them", () => {
    make(".", { skein: "1" })
    const skein = make("node_modules/skein", { sqlite: "1", "@scope/search": "1", gone: "1" })
    const sqlite = make("node_modules/sqlite", { bindings: "1" })
    const search = make("node_modules/skein/node_modules/@scope/search", {})
    const bindings = make("node_modules/bindings", { sqlite: "1" })
    make("node_modules/other", {})
    expect(installedPackages(path.join(skein, "dist", "a.js")).toSorted()).toEqual(
      [skein, sqlite, search, bindings].toSorted()
    )
  })

  it("are none where the program lies in its own sources", () => {
    const sources = make("sources", { skein: "1" })
    expect(installedPackages(path.join(sources, "dist", "a.js"))).toEqual([])
  })
})
