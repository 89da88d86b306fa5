/** A tree needs its directory: it waits for the host that has it, or moves to one that shares it. */
import { afterAll, expect, it, vi } from "vitest"
import { atAlpha, startHosts } from "./support/hosts.ts"

vi.setConfig({ testTimeout: 60_000 })

const postgres = await startHosts()

if (typeof postgres === "string") {
  it.skip(postgres, () => undefined)
} else {
  afterAll(postgres.stop)

  it("a tree whose directory another host lacks waits for its host, and continues there", async () => {
    const { db, done, first, id, llm, project, proved, start, takeovers, waiting } = await atAlpha(postgres)
    await proved()
    const second = await start("beta", project)
    first.child.kill("SIGKILL")
    expect(await waiting(second)).toEqual([{ rootID: id, title: "t", host: "alpha", directory: project }])
    expect(llm.requests).toHaveLength(1)

    expect(await second.send(`/v1/sessions/${id}/prompt`, { text: "More" })).toMatchObject({
      status: 503,
      json: { title: "HostAway", detail: expect.stringMatching(/on the host alpha, and no server of this cluster is/) }
    })
    const { code, stderr } = await second.at.run(["cluster", "status", ...db])
    expect(code).toBe(0)
    expect(stderr).toContain(`${id} waits for a server on the host alpha: its directory is ${project} there.`)

    const listed = await second.at.run(["sessions", "list", "--all", ...db])
    expect(listed.stderr).toContain("It waits for the host alpha, which has its directory. Continue there with:")

    const third = await start("alpha")
    await done(second)
    expect(await takeovers(second)).toMatchObject({ waiting: [], takeovers: [{ to: third.url }] })
  })

  it("a tree in which nobody works gets its prompts at its host, whichever server is asked", async () => {
    const { first, holder, id, llm, project, start } = await atAlpha(postgres, { hanging: 2 })
    expect(await first.send(`/v1/sessions/${id}/interrupt`, {})).toMatchObject({ status: 204 })
    const second = await start("beta", project)
    while ((await second.send("/v1/cluster")).json.runners.some((each: { trees: number }) => each.trees > 0));
    expect(await second.send(`/v1/sessions/${id}/prompt`, { text: "More" })).toMatchObject({ status: 202 })
    await llm.asked(2)
    expect(await holder()).toContain(encodeURIComponent(first.url))
    expect((await second.send("/v1/cluster")).json.takeovers).toEqual([])
  })

  it("a tree in which nobody works gets its prompts at a server that shares its directory if its host is gone", async () => {
    const { done, first, holder, id, llm, project, proved, start } = await atAlpha(postgres, { hanging: 2 })
    await proved()
    expect(await first.send(`/v1/sessions/${id}/interrupt`, {})).toMatchObject({ status: 204 })
    const second = await start("beta", project)
    const third = await start("gamma")
    first.child.kill("SIGKILL")
    await first.ended
    const key = { "idempotency-key": "more" }
    const more = () => second.send(`/v1/sessions/${id}/prompt`, { text: "More" }, "POST", key)
    const sent = await more()
    expect(sent).toMatchObject({ status: 202 })
    await llm.asked(2)
    expect(await holder()).toContain(encodeURIComponent(third.url))
    // Repeated, it is stored once, wherever it is answered.
    expect((await more()).json.messageID).toBe(sent.json.messageID)
    third.child.kill("SIGKILL")
    await start("delta")
    await done(second)
    expect(llm.requests).toHaveLength(3)
  })

  it("a tree moves to another host that shares its directory", async () => {
    const { done, first, proved, start, takeovers } = await atAlpha(postgres)
    await proved()
    const second = await start("beta")
    first.child.kill("SIGKILL")
    await done(second)
    expect(await takeovers(second)).toMatchObject({ waiting: [], takeovers: [{ to: second.url }] })
  })
}
