/** The built program and the commands of agents: however it ends, nothing of them is left. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { startLlm } from "./support/llm.ts"
import { until } from "./support/until.ts"

vi.setConfig({ testTimeout: 60_000 })

const isAlive = (pid: number): boolean => {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))
  } catch {
    return false
  }
}

/** A command that waits, and has others wait: in its group, outside it, and orphaned. Each writes its process id. */
const script = [
  "trap '' TERM",
  "echo $$ > pid1",
  "sleep 9999 & echo $! > pid2",
  "setsid sh -c 'echo $$ > pid3; exec sleep 9999' &",
  "(setsid sh -c 'echo $$ > pid4; exec sleep 9999' >/dev/null 2>&1 &)",
  "sleep 9999 & echo $! > pid5",
  "wait"
].join("\n")

/** A run whose agent has started the command. */
const started = async () => {
  const llm = await startLlm((request) =>
    request.user.at(-1) === "begin" && request.messages.at(-1)?.role === "user"
      ? { calls: [{ tool: "bash", args: { command: "bash ./script.sh" } }] }
      : "done"
  )
  const place = sandbox({ llm: llm.url })
  atEnd(llm.close, place.remove)
  writeFileSync(join(place.project, "script.sh"), script)
  // In a sandbox all of them would have other ids, and end automatically.
  mkdirSync(join(place.home, "config", "skein"), { recursive: true })
  writeFileSync(join(place.home, "config", "skein", "skein.json"), JSON.stringify({ sandbox: "off" }))
  const running = place.start(["run", "-m", "openai/m", "--auto", "--title", "t", "begin"])
  let early: string | undefined
  void running.ended.then(({ stderr }) => early = stderr)
  const pids = await Promise.all([1, 2, 3, 4, 5].map((number) =>
    until(() => {
      const file = join(place.project, `pid${number}`)
      const text = existsSync(file) ? readFileSync(file, "utf8") : ""
      if (!text.endsWith("\n") && early !== undefined) throw new Error(`It ended too early: ${early}`)
      return text.endsWith("\n") && Number(text)
    })
  ))
  atEnd(() => pids.filter(isAlive).forEach((pid) => process.kill(pid, "SIGKILL")))
  return { place, running, pids, records: () => readdirSync(join(place.home, "data", "skein", "processes")) }
}

/** What a process has started that watches its commands. */
const watchdogOf = (parent: number | undefined) =>
  readdirSync("/proc").map(Number).filter((pid) =>
    pid > 0 && isAlive(pid) && new RegExp(`^PPid:\\s+${parent}$`, "m").test(readFileSync(`/proc/${pid}/status`, "utf8"))
    && readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("SKEIN_GROUP=")
  )

it("a kill of Skein ends all that its commands have started", async () => {
  const { pids, running } = await started()
  const watchdog = watchdogOf(running.child.pid)
  running.child.kill("SIGKILL")
  await until(() => !pids.some(isAlive) && !watchdog.some(isAlive))
})

it("after a kill of Skein and its watchdog, the next start ends everything that its commands have left (C16)", async () => {
  const { pids, place, records, running } = await started()
  for (const pid of watchdogOf(running.child.pid)) process.kill(pid, "SIGKILL")
  running.child.kill("SIGKILL")
  await running.ended
  expect(pids.every(isAlive)).toBe(true)
  expect(records().length).toBe(1)
  expect((await place.run(["run", "-m", "openai/m", "--title", "t", "what now?"])).code).toBe(0)
  await until(() => !pids.some(isAlive))
  expect(records()).toEqual([])
})

it("Ctrl-C ends all of it, even what ignores requests to end (C17)", async () => {
  const { pids, records, running } = await started()
  running.child.kill("SIGINT")
  expect((await running.ended).code).toBe(130)
  expect(pids.some(isAlive)).toBe(false)
  expect(records()).toEqual([])
})

it("the second Ctrl-C ends all of it immediately", async () => {
  const { pids, running } = await started()
  running.child.kill("SIGINT")
  running.child.kill("SIGTERM")
  // Of two signals that arrive together, either may be the first.
  expect([130, 143]).toContain((await running.ended).code)
  await until(() => !pids.some(isAlive))
})
