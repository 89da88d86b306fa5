// @ts-check
// Loaded into a server that is measured: at SIGUSR2 it collects its garbage, and writes down what is left.
import { renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { heapFile } from "./heapFile.mjs"

/** Enough that what needs several collections is gone. */
const collections = 6

process.on("SIGUSR2", async () => {
  for (let time = 0; time < collections; time++) {
    globalThis.gc?.()
    await sleep(50)
  }
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  const file = join(process.env["XDG_DATA_HOME"] ?? "", heapFile)
  writeFileSync(`${file}.part`, JSON.stringify({ alive: heapUsed + arrayBuffers }))
  renameSync(`${file}.part`, file)
})
