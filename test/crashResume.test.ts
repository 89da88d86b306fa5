/** The built program after a crash: what listings say, and what `sessions resume` does. */
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { type Sandbox, sandbox } from "./support/cli.ts"
import { type Llm, type LlmAnswer, type LlmRequest, startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

const world = async (script: (request: LlmRequest) => LlmAnswer | string) => {
  const llm: Llm = await startLlm(script)
  const place: Sandbox = sandbox({ llm: llm.url })
  atEnd(llm.close, place.remove)
  return { llm, place }
}

const run = ["run", "-m", "openai/m", "--title", "t"]

/** A session whose process was killed while the model was asked. */
const crashed = async () => {
  let hangs = true
  const { llm, place } = await world(() => hangs ? { hangs } : "done")
  const running = place.start([...run, "go"])
  await llm.asked(1)
  const during = await place.run(["sessions", "list", "--format", "json"])
  const [{ id, interrupted }] = JSON.parse(during.stdout)
  expect(interrupted).toBeUndefined()
  return { llm, place, id, running, recovers: () => hangs = false }
}

it("a tree that is running elsewhere is not taken over, and one whose process was killed is reported", async () => {
  const { id, place, running } = await crashed()
  const refused = await place.run(["sessions", "resume", id])
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("Another process works in the session") })
  running.child.kill("SIGKILL")
  await running.ended
  const how = `skein sessions resume ${id}`
  const listed = await place.run(["sessions"])
  expect(listed.stderr).toContain(how)
  expect((await place.run(["sessions", "show", id])).stdout).toContain(how)
  expect(JSON.parse((await place.run(["sessions", "list", "--format", "json"])).stdout)).toMatchObject([
    { id, interrupted: true, turn: { began: expect.any(Number) } }
  ])
})

it("resume continues interrupted work, and says that there is nothing to continue for ended work", async () => {
  const { id, llm, place, recovers, running } = await crashed()
  running.child.kill("SIGKILL")
  await running.ended
  recovers()
  expect(await place.run(["sessions", "resume", id])).toMatchObject({
    code: 0,
    stdout: "done\n",
    stderr: expect.stringMatching(/^model: openai\/m .*\n$/)
  })
  expect(llm.requests.at(-1)?.user).toEqual(["go"])
  const asked = llm.requests.length
  const again = await place.run(["sessions", "resume", id])
  expect(again).toMatchObject({ code: 0, stdout: "done\n" })
  expect(again.stderr).toMatch(/^There was nothing to continue in ses_\w+/)
  expect(llm.requests).toHaveLength(asked)
  expect((await place.run(["sessions"])).stderr).toBe("")
})

it("a prompt recovers first: interrupted work is answered in one turn with it", async () => {
  const { id, llm, place, recovers, running } = await crashed()
  running.child.kill("SIGKILL")
  await running.ended
  recovers()
  const resumed = await place.run(["sessions", "resume", id, "and that?", "--format", "quiet"])
  expect(resumed).toMatchObject({ code: 0, stdout: "done\n" })
  expect(llm.requests.at(-1)?.user.at(-1)).toContain("and that?")
})
