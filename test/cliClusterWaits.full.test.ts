/** A tree that waits for the host of its directory says so, to everyone who follows it, at any server. */
import { afterAll, expect, it, vi } from "vitest"
import { program } from "./support/cli.ts"
import { atAlpha, startHosts } from "./support/hosts.ts"
import type { Sent } from "./support/server.ts"
import { hasPython, onTerminal, shown } from "./support/terminal.ts"
import { until } from "./support/until.ts"

vi.setConfig({ testTimeout: 120_000 })

const postgres = await startHosts()

if (typeof postgres === "string") {
  it.skip(postgres, () => undefined)
} else {
  afterAll(postgres.stop)

  const statusOf = ({ data, type }: Sent) =>
    type === "session.status" ? (data.properties?.["status"] as { readonly type: string }) : undefined

  it("in its events and in its snapshot, until it continues", async () => {
    const { first, holder, id, llm, project, start } = await atAlpha(postgres, { hanging: 2 })
    const second = await start("beta", project)
    const away = { type: "away", host: "alpha", directory: project }

    /** Follows the tree at `beta`, as clients do whose streams break, until an event matches. */
    const seen: Array<Sent> = []
    const follow = async (isLast: (event: Sent) => boolean) => {
      for (let isOver = false; !isOver;) {
        const last = seen.findLast((event) => event.id !== undefined)?.id
        const came = await second.follow(id, last ?? "0", (event) => isOver = isLast(event))
        seen.push(...came)
      }
    }
    first.child.kill("SIGKILL")
    await follow((event) => statusOf(event)?.type === "away")
    expect(statusOf(seen.at(-1) as Sent)).toEqual(away)
    expect((await second.send(`/v1/sessions/${id}/tree`)).json.sessions[0].status).toEqual(away)
    expect((await second.send("/v1/sessions")).json.items[0].status).toEqual(away)
    // Who comes later gets it as well.
    expect((await second.follow(id, undefined, (event) => statusOf(event) !== undefined)).map(statusOf)).toEqual([away])

    // Who waits for its work waits for its host as well: nothing is done here.
    const rest = second.send(`/v1/sessions/${id}/rest`)
    const over = follow((event) => event.type === "session.idle")
    const third = await start("alpha")
    await llm.asked(2)
    expect(await holder()).toContain(encodeURIComponent(third.url))
    // A list comes from the server that is asked.
    while ((await second.send("/v1/sessions")).json.items[0].status.type === "away");
    await second.send(`/v1/sessions/${id}/interrupt`, {})
    await over
    await rest
  })

  it("in the list of what waits, which it leaves at once when it is stopped", async () => {
    const { first, id, project, start, waiting } = await atAlpha(postgres)
    const second = await start("beta", project)
    first.child.kill("SIGKILL")
    await waiting(second)
    const told = second.follow(id, undefined, (event) => statusOf(event)?.type === "idle")
    await second.send(`/v1/sessions/${id}/interrupt`, {})
    await told
    expect((await second.send("/v1/cluster")).json.waiting).toEqual([])
  })

  it("to a run that is attached, which ends once the host is back", async () => {
    const { db, done, first, id, project, start } = await atAlpha(postgres)
    const second = await start("beta", project)
    const run = second.at.start(["run", "--session", id, "More", ...db])
    while (!JSON.stringify((await second.send(`/v1/sessions/${id}/tree`)).json.waiting).includes("More"));
    first.child.kill("SIGKILL")
    await until(() => run.output().includes("waits for a server on the host alpha") || undefined)
    expect(run.output()).toContain(`> waits for a server on the host alpha: its directory is ${project} there`)
    await start("alpha")
    await done(second)
    expect(await run.ended).toMatchObject({ code: 0, stdout: "All is done.\n" })
  })

  it.skipIf(!hasPython)("to a terminal that opens the session (needs python3)", async () => {
    const { db, first, id, project, start, waiting } = await atAlpha(postgres)
    const second = await start("beta", project)
    first.child.kill("SIGKILL")
    await waiting(second)
    const { code, printed } = await onTerminal([process.execPath, program, "--session", id, ...db], {
      cwd: second.at.project,
      env: second.at.env({ TERM: "xterm-256color", NO_COLOR: "1" }),
      columns: 200,
      keys: [
        { after: "waits for the host alpha", send: "More\r" },
        { after: "no server of this cluster is there", send: "\u0015/quit\r" }
      ]
    })
    expect(code, await shown(printed)).toBe(0)
  })
}
