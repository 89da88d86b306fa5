/** A tree in which another process works is shown as working, by a server that shares its database with that process. */
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { withBrowser } from "./support/browser.ts"
import { sandbox } from "./support/cli.ts"
import { startLlm } from "./support/llm.ts"
import { type Sent, startServer } from "./support/server.ts"

vi.setConfig({ testTimeout: 120_000 })

const statusOf = ({ data, type }: Sent) =>
  type === "session.status" ? (data.properties?.["status"] as { readonly type: string } | undefined)?.type : undefined

/** A server, and a run beside it in the same database, whose first answer waits for `answer`. */
const startBoth = async () => {
  let answer = () => {}
  const given = new Promise<void>((resolve) => answer = resolve)
  const llm = await startLlm(async () => {
    await given
    return "All is done."
  })
  atEnd(llm.close)
  const at = sandbox({ llm: llm.url })
  atEnd(at.remove)
  const server = await startServer(at)
  atEnd(async () => {
    server.child.kill("SIGKILL")
    await server.ended
  })
  const run = at.start(["run", "--attach", "off", "--title", "Beside", "Go"])
  atEnd(async () => {
    run.child.kill("SIGKILL")
    await run.ended
  })
  await llm.asked(1)
  const { json } = await server.send("/v1/sessions")
  return { answer, llm, run, server, session: json.items[0] as { readonly id: string; readonly status: unknown } }
}

it("in its lists, in the snapshot and in the events, until the other process has ended", async () => {
  const { run, server, session } = await startBoth()
  expect(session.status).toEqual({ type: "elsewhere" })
  expect((await server.send(`/v1/sessions/${session.id}`)).json.status).toEqual({ type: "elsewhere" })
  expect((await server.send(`/v1/sessions/${session.id}/tree`)).json.sessions[0].status).toEqual({ type: "elsewhere" })
  const told = await server.follow(session.id, undefined, (event) => {
    if (statusOf(event) === "elsewhere") run.child.kill("SIGKILL")
    return statusOf(event) === "idle"
  })
  expect(told.flatMap((event) => statusOf(event) ?? [])).toEqual(["elsewhere", "idle"])
  expect((await server.send("/v1/sessions")).json.items[0]).toMatchObject({
    status: { type: "idle" },
    unfinished: true
  })
})

withBrowser((tabs) => {
  it("on the page, whose transcript moves on", async () => {
    const { answer, server, session } = await startBoth()
    const { page, problems } = await tabs.open()
    await page.goto(server.line)
    const running = page.getByRole("region", { name: /^running/i })
    await running.getByRole("link", { name: /Beside/ }).waitFor()
    expect(await running.innerText()).toContain("works in another process")
    await page.goto(`${server.url}/s/${session.id}/transcript`)
    await page.getByText("Go").first().waitFor()
    answer()
    await page.getByText("All is done.").waitFor()
    await page.getByRole("link", { name: "Skein" }).first().click()
    await page.getByRole("region", { name: /^done/i }).getByRole("link", { name: /Beside/ }).waitFor()
    expect(problems).toEqual([])
  })
})
