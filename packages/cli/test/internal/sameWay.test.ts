import { expect, it } from "vitest"
import { sameWay } from "../../src/internal/attach/attach.ts"

it.each([
  [undefined, undefined, ""],
  ["auto", undefined, ""],
  ["off", "my skein.db", " --db 'my skein.db'"],
  ["http://10.0.0.1:4096,http://10.0.0.2:4096", undefined, " --attach=http://10.0.0.1:4096,http://10.0.0.2:4096"],
  ["http://[::1]:4096", undefined, " --attach='http://[::1]:4096'"],
  [undefined, "postgres://skein@db.example/skein", " --db postgres://skein@db.example/skein"],
  [undefined, "postgres://skein:secret@db.example/skein", " --db URL"]
])("commands reach what --attach %s and --db %s reached with these flags", (attach, db, flags) => {
  expect(sameWay({ attach, db })).toBe(flags)
})
