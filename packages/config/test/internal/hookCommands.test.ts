import { expect, it } from "vitest"
import { besideFile } from "../../src/internal/configFile.ts"

it.each([
  ["./bell", "/home/me/skein.json", "/home/me/bell"],
  ["  ../bell -x", "/home/me/skein.json", "/home/me/../bell -x"],
  ["./bell", "/it's here/skein.json", String.raw`'/it'\''s here'/bell`],
  ["bell ./a", "/home/me/skein.json", "bell ./a"],
  [".hidden/bell", "/home/me/skein.json", ".hidden/bell"]
])("%j in %s runs as %s", (command, file, expected) => {
  expect(besideFile([{ command }], file)).toEqual([{ command: expected }])
})
