// @ts-check
// How fast a session of many messages is open: from the start of the program to its last line on the screen.
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { median } from "../median.mjs"
import { cpuOf } from "../server/serve.mjs"
import { makeWorld } from "./world.mjs"

/** @param {number} at */
const digits = (at) => String(at).padStart(8, "0")

/** @param {number} count @returns {Promise<ReadonlyArray<import("../terminal.mjs").Row>>} */
export const measureHistory = async (count) => {
  const world = await makeWorld()
  const { sessionID } = JSON.parse(
    (await world.run(["run", "-m", "openai/m", "--format", "json", "PING"])).trim().split("\n").at(-1) ?? ""
  )
  const small = join(world.home.home, "small.json")
  const large = join(world.home.home, "large.json")
  await world.run(["sessions", "export", sessionID, "--output", small])
  const archive = JSON.parse(readFileSync(small, "utf8"))
  const [session] = archive.sessions
  const [asked, answered] = session.messages
  /** @param {number} at */
  const copy = (at) => {
    const { info, parts } = at % 2 === 0 ? asked : answered
    const id = `msg_0${digits(at)}0000000000000`
    const more = at % 2 === 0 ? {} : { parentID: `msg_0${digits(at - 1)}0000000000000` }
    return {
      info: { ...info, id, ...more },
      parts: parts.map((/** @type {{ type: string }} */ part, /** @type {number} */ index) => ({
        ...part,
        ...(part.type === "text" ? { text: `Message ${at} ends.` } : {}),
        id: `prt_0${digits(at)}${index}000000000000`,
        messageID: id
      }))
    }
  }
  session.messages = Array.from({ length: count }, (_, at) => copy(at))
  delete session.info.turn?.first
  writeFileSync(large, JSON.stringify(archive))
  const imported = await world.run(["sessions", "import", large, "--as-copy"])
  const [id = ""] = /ses_\w+/.exec(imported.replace(sessionID, "")) ?? []
  /** @type {Array<number>} */
  const opened = []
  /** @type {Array<number>} */
  const cpu = []
  for (let round = 0; round < 6; round++) {
    const seat = world.open(["--session", id])
    opened.push(await seat.printed(`Message ${count - 1} ends.`) - seat.began)
    cpu.push(cpuOf(seat.pid()) * 1_000)
    await seat.kill()
  }
  world.close()
  const took = median(opened.slice(1))
  return [{
    name: `a session of ${count} messages is open (${median(cpu.slice(1)).toFixed(0)} ms of CPU)`,
    value: `${took.toFixed(0)} ms`,
    target: "1 s",
    met: took <= 1_000
  }]
}
