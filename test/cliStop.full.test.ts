/** `skein sessions stop` stops a session where it works, and says so if nothing was running. */
import { expect, it } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { type Sandbox, sandbox } from "./support/cli.ts"
import { startLlm } from "./support/llm.ts"
import { startServer } from "./support/server.ts"
import { until } from "./support/until.ts"

/** A place to run in. The model never answers, but for the root of a prompt with "Delegate": that starts a task. */
const world = async () => {
  const llm = await startLlm(({ messages, user }) =>
    user[0] === "Delegate" && !messages.some(({ role }) => role === "tool")
      ? { calls: [{ tool: "task", args: { description: "work", prompt: "Work", subagent_type: "general" } }] }
      : { hangs: true }
  )
  atEnd(llm.close)
  const at = sandbox({ llm: llm.url })
  atEnd(at.remove)
  return { llm, at }
}

const serve = async (at: Sandbox) => {
  const server = await startServer(at)
  atEnd(async () => {
    server.child.kill("SIGKILL")
    await server.ended
  })
  return server
}

const run = (at: Sandbox, ...args: ReadonlyArray<string>) =>
  at.start(["run", "-m", "openai/m", "--title", "t", ...args])

const rootOf = async (at: Sandbox): Promise<string> =>
  JSON.parse((await at.run(["sessions", "list", "--format", "json"])).stdout)[0].id

it("stops a tree at a server of the database, and one at a URL, and finds nothing the second time", async () => {
  const { at, llm } = await world()
  const server = await serve(at)
  const delegated = run(at, "Delegate")
  await llm.asked(2)
  const first = await rootOf(at)
  expect(await at.run(["sessions", "stop", first])).toMatchObject({
    code: 0,
    stdout: `Stopped, with everything below it: ${first}  t\n`
  })
  expect((await delegated.ended).code).toBe(1)
  expect(llm.open()).toBe(0)
  const tasks = JSON.parse((await at.run(["tasks", "list", first, "--format", "json"])).stdout)
  expect(tasks).toMatchObject([{ state: "settled", outcome: { status: "stopped" } }])

  const second = run(at, "Go")
  await llm.asked(3)
  const id = await rootOf(at)
  const remote = ["sessions", "stop", id.slice(0, -4), `--attach=${server.url}`, "--format", "json"]
  const stop = async () => JSON.parse((await at.run(remote)).stdout)
  expect(await stop()).toEqual({ sessionID: id, found: "running" })
  await second.ended
  expect(await stop()).toEqual({ sessionID: id, found: "idle" })
  expect((await at.run(["sessions", "stop", id])).stdout).toBe(`Nothing was running: ${id}  t\n`)
})

it("stops what a process in another terminal does, with the tasks below it", async () => {
  const { at, llm } = await world()
  const delegated = run(at, "Delegate")
  await llm.asked(2)
  const id = await rootOf(at)
  const stopped = await at.run(["sessions", "stop", id])
  expect(stopped).toMatchObject({ code: 0, stdout: `Stopped, with everything below it: ${id}  t\n`, stderr: "" })
  expect((await delegated.ended).code).toBe(1)
  expect(llm.open()).toBe(0)
  const tasks = JSON.parse((await at.run(["tasks", "list", id, "--format", "json"])).stdout)
  expect(tasks).toMatchObject([{ state: "settled", outcome: { status: "stopped", by: "the user" } }])
})

it("stops what a process that was killed has left", async () => {
  const { at, llm } = await world()
  const killed = run(at, "Go")
  await llm.asked(1)
  const id = await rootOf(at)
  killed.child.kill("SIGKILL")
  await killed.ended
  await until(async () => JSON.parse((await at.run(["sessions", "list", "--format", "json"])).stdout)[0].interrupted)
  const stopped = await at.run(["sessions", "stop", id])
  expect(stopped).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^No process worked on it any longer\. What was left /)
  })
  const [listed] = JSON.parse((await at.run(["sessions", "list", "--format", "json"])).stdout)
  expect(listed.turn.ended.how).toBe("stopped")
  expect(await at.run(["sessions", "stop", "ses_none"])).toMatchObject({ code: 2 })
})
