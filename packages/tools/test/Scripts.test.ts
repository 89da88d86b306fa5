import { remember } from "@skein/tools/Scripts"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it, onTestFinished } from "vitest"

const project = () => {
  const directory = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "skein-scripts-")))
  onTestFinished(() => fs.rmSync(directory, { recursive: true, force: true }))
  fs.writeFileSync(join(directory, "server.mjs"), "1")
  fs.writeFileSync(join(directory, "data.json"), "{}")
  fs.symlinkSync("server.mjs", join(directory, "link.mjs"))
  return directory
}

it.each<readonly [command: ReadonlyArray<string>, file: string]>([
  [["node", "./server.mjs"], "server.mjs"],
  [["node", "link.mjs"], "server.mjs"],
  [["node", "--import=./server.mjs", "-e", "0"], "server.mjs"],
  [["sh", "-c", "exec node server.mjs"], "server.mjs"],
  [["node", "later.mjs"], "later.mjs"]
])("%j is found to run something else once %s is written", (command, file) => {
  const directory = project()
  const changed = remember(command, directory)
  expect(changed()).toBeUndefined()
  fs.writeFileSync(join(directory, file), "2")
  expect(changed()).toContain(directory)
})

it("data of a server may change", () => {
  const directory = project()
  const changed = remember(["node", "server.mjs", "data.json"], directory)
  fs.writeFileSync(join(directory, "data.json"), "[]")
  expect(changed()).toBeUndefined()
})
