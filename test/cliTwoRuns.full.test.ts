/** Two runs of one session at once: one works in it, nothing is lost or doubled, and each ends with its true exit code. */
import { hostname } from "node:os"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { type Llm, startLlm } from "./support/llm.ts"
import { linesOf } from "./support/run.ts"

vi.setConfig({ testTimeout: 60_000 })

/** A session with a run in it whose model waits, and how to start another one. */
const busy = async () => {
  const llm: Llm = await startLlm(({ user }) =>
    user.at(-1) === "one" && llm.requests.length === 2 ? waits : `Heard ${user.join(", ")}.`
  )
  let release = () => {}
  const waits = new Promise<string>((resolve) => release = () => resolve("The first is done."))
  const place = sandbox({ llm: llm.url })
  atEnd(llm.close, place.remove)
  const id =
    linesOf((await place.run(["run", "-m", "openai/m", "--format", "json", "--title", "Mine", "zero"])).stdout).at(-1)
      ?.sessionID ?? ""
  const start = (text: string) => place.start(["run", "-m", "openai/m", "-s", id, text])
  const first = start("one")
  await llm.asked(2)
  const said = async () => {
    const { messages } = JSON.parse((await place.run(["sessions", "show", id, "--format", "json"])).stdout)
    return (messages as ReadonlyArray<{ info: { role: string }; parts: ReadonlyArray<{ text?: string }> }>).flatMap(
      ({ info, parts }) => info.role === "user" ? parts.flatMap(({ text }) => text ?? []) : []
    )
  }
  return { first, id, llm, release: () => release(), said, start }
}

it("the second is refused, and says who works there", async () => {
  const { first, id, release, said, start } = await busy()
  const { code, stderr, stdout } = await start("two").ended
  expect([code, stdout]).toEqual([1, ""])
  expect(stderr).toContain(
    `Another process works in the session ${id} (process ${first.child.pid} on the host ${hostname()}). Wait for it`
  )
  release()
  expect(await first.ended).toMatchObject({ code: 0, stdout: "The first is done.\n" })
  expect(await said()).toEqual(["zero", "one"])
})

it("the first continues if the second is killed while it waits", async () => {
  const { first, release, said, start } = await busy()
  const second = start("two")
  second.child.kill("SIGKILL")
  expect((await second.ended).signal).toBe("SIGKILL")
  release()
  expect(await first.ended).toMatchObject({ code: 0, stdout: "The first is done.\n" })
  expect(await said()).toEqual(["zero", "one"])
})

it("the second continues the work of the first if that is killed, and then answers its own prompt", async () => {
  const { first, llm, said, start } = await busy()
  first.child.kill("SIGKILL")
  await first.ended
  const { code, stdout, stderr } = await start("two").ended
  expect([code, stdout], stderr).toEqual([0, "Heard zero, one, two.\n"])
  expect(await said()).toEqual(["zero", "one", "two"])
  // The answer that the first waited for is asked for once more, at most, and no prompt is sent twice.
  for (const { user } of llm.requests) expect(new Set(user).size).toBe(user.length)
})
