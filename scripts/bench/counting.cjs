// Loaded into a counted program before all else (`node --require`): counts calls of the file system and of SQLite, samples
// what is allocated, and writes all counters beside this file when the program ends.
"use strict"
const fs = require("node:fs")
const { Session } = require("node:inspector")

const { writeFileSync } = fs
const out = __filename.replace(/counting\.cjs$/, "counters.json")
const counters = { operations: 0, fibers: 0, copies: 0, fileCalls: 0, statements: 0, transactions: 0 }
globalThis.__skeinCounters = counters

/** @param {any} holder @param {string} name */
const count = (holder, name) => {
  const original = holder[name]
  holder[name] = Object.assign(function(...args) {
    counters.fileCalls++
    return original.apply(this, args)
  }, original)
}
for (
  const name of ["stat", "lstat", "access", "open", "readFile", "readdir", "readlink", "writeFile", "rename", "unlink", "mkdir"]
) {
  count(fs, name)
  count(fs, `${name}Sync`)
  count(fs.promises, name)
}
for (const name of ["existsSync", "opendir"]) count(fs, name)
for (const name of ["realpath", "realpathSync"]) {
  count(fs, name)
  count(fs[name], "native")
}

const Database = require("better-sqlite3")
const { exec, prepare } = Database.prototype
Database.prototype.prepare = function(source) {
  const statement = prepare.call(this, source)
  for (const name of ["run", "all", "get"]) {
    const original = statement[name]
    statement[name] = function(...args) {
      counters.statements++
      if (source.startsWith("BEGIN")) counters.transactions++
      return original.apply(this, args)
    }
  }
  return statement
}
Database.prototype.exec = function(source) {
  counters.statements++
  if (source.startsWith("BEGIN")) counters.transactions++
  return exec.call(this, source)
}

const session = new Session()
session.connect()
session.post("HeapProfiler.startSampling", {
  samplingInterval: 4096,
  includeObjectsCollectedByMajorGC: true,
  includeObjectsCollectedByMinorGC: true
})
process.on("exit", () => {
  session.post("HeapProfiler.stopSampling", (_, { profile }) => {
    let allocated = 0
    const open = [profile.head]
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      allocated += node.selfSize
      open.push(...node.children)
    }
    const undici = process.moduleLoadList.some((name) => name.includes("undici"))
    writeFileSync(out, JSON.stringify({ ...counters, allocated, undici }))
  })
})
