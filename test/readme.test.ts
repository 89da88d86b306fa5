/** Proves that the examples of the README are the files that are typed and run by the other tests. */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"

const root = fileURLToPath(new URL("..", import.meta.url))
const readme = readFileSync(`${root}README.md`, "utf8")
const blocks = [...readme.matchAll(/<!-- (test\/examples\/\S+) -->\s+```ts\n([\s\S]*?)```/g)]

it("shows both examples", () => {
  expect(blocks.map(([, file]) => file)).toEqual(["test/examples/embed.ts", "test/examples/tree.test.ts"])
  expect(readme.match(/```ts/g)).toHaveLength(blocks.length)
})

it.each(blocks)("shows the file as it is: %#", (_block, file, code) => {
  expect(code).toBe(readFileSync(`${root}${file}`, "utf8"))
})
