/** A tree whose agents touch no files and run no commands needs no directory: a server on any host takes it up. */
import { dirname } from "node:path"
import { afterAll, expect, it, vi } from "vitest"
import { atAlpha, startHosts } from "./support/hosts.ts"

vi.setConfig({ testTimeout: 60_000 })

const agents = (more: object = {}) => ({
  agent: {
    thinker: {
      mode: "primary",
      description: "Thinks.",
      permission: { "*": "deny", question: "allow", task: "allow", ...more }
    }
  }
})

const postgres = await startHosts()

if (typeof postgres === "string") {
  it.skip(postgres, () => undefined)
} else {
  afterAll(postgres.stop)

  it("a tree without file tools continues on a host that lacks its directory, and gets its prompts there", async () => {
    const { done, first, id, llm, project, start, takeovers } = await atAlpha(postgres, {
      agent: "thinker",
      settings: agents()
    })
    // Not even the path is there.
    const second = await start("beta", dirname(project))
    first.child.kill("SIGKILL")
    await done(second)
    expect(await takeovers(second)).toMatchObject({ waiting: [], takeovers: [{ to: second.url }] })

    const asked = llm.requests.length
    expect(await second.send(`/v1/sessions/${id}/prompt?wait=true`, { text: "More" })).toMatchObject({
      status: 200,
      json: { text: "All is done." }
    })
    expect(llm.requests.slice(asked).map(({ tools }) => tools)).toEqual([[
      "question",
      "task",
      "task_message",
      "task_status",
      "task_stop",
      "task_wait"
    ]])

    expect(await second.at.run(["run", "--attach", second.url, "-s", id, "Even more"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("All is done.")
    })

    expect(await second.send(`/v1/sessions/${id}/prompt`, { text: "Read", agent: "build" })).toMatchObject({
      status: 422,
      json: { detail: expect.stringMatching(/^The agent build needs the directory .* on the host alpha\./) }
    })
    expect((await second.send(`/v1/sessions/${id}`)).json).toMatchObject({ agent: "thinker", anywhere: true })

    // At its host it may work with any agent, and is bound to its directory from then on.
    const third = await start("alpha")
    await second.send(`/v1/sessions/${id}/interrupt`, {})
    second.child.kill("SIGKILL")
    expect(await third.send(`/v1/sessions/${id}/prompt?wait=true`, { text: "Read", agent: "build" })).toMatchObject({
      status: 200
    })
    expect((await third.send(`/v1/sessions/${id}`)).json).toMatchObject({ agent: "build", anywhere: false })
    expect(llm.requests.at(-1)?.tools).toContain("read")
  })

  it.each([
    ["an agent that may read", { settings: agents({ read: "allow" }) }, undefined],
    ["instructions in the project", { settings: agents(), files: { "AGENTS.md": "Be kind." } }, undefined],
    ["a hook", { settings: { ...agents(), hooks: { Stop: [{ command: "true" }] } } }, undefined],
    ["an agent that may read on the other host", { settings: agents() }, agents({ read: "allow" })]
  ])("a tree with %s waits for its host", async (_, options, elsewhere) => {
    const { done, first, id, llm, project, start, waiting } = await atAlpha(postgres, { agent: "thinker", ...options })
    const second = await start("beta", dirname(project), elsewhere)
    first.child.kill("SIGKILL")
    expect(await waiting(second)).toEqual([{ rootID: id, title: "t", host: "alpha", directory: project }])
    expect(await second.send(`/v1/sessions/${id}/prompt`, { text: "More" })).toMatchObject({
      status: 503,
      json: { title: "HostAway" }
    })
    expect(llm.requests).toHaveLength(1)
    await start("alpha")
    await done(second)
  })
}
