/** A session continues through any server of a cluster, also one whose host lacks its directory. */
import { dirname } from "node:path"
import { afterAll, expect, it, vi } from "vitest"
import { atAlpha, startHosts } from "./support/hosts.ts"

vi.setConfig({ testTimeout: 120_000 })

const postgres = await startHosts()

if (typeof postgres === "string") {
  it.skip(postgres, () => undefined)
} else {
  afterAll(postgres.stop)

  it("a session continues through a server that lacks its directory, or says which host it waits for", async () => {
    const { db, first, id, project, start } = await atAlpha(postgres, { hanging: 1 })
    expect(await first.send(`/v1/sessions/${id}/interrupt`, {})).toMatchObject({ status: 204 })
    // Not even the path is there.
    const second = await start("beta", dirname(project))
    const named = await second.at.run(["run", "--attach", second.url, "-s", id, "More"])
    expect(named).toMatchObject({ code: 0, stdout: expect.stringContaining("All is done.") })
    const own = await second.at.run(["sessions", "resume", id, "More", ...db])
    expect(own).toMatchObject({ code: 0, stdout: expect.stringContaining("All is done.") })
    const about = `directory=${encodeURIComponent(project)}`
    expect(await second.send(`/v1/agents?${about}`)).toMatchObject({ status: 200 })
    const model = { providerID: "openai", modelID: "m" }
    const begin = { directory: project, title: "new", model }
    expect(await second.send("/v1/sessions", begin)).toMatchObject({ status: 201, json: { directory: project } })
    const nowhere = await second.send("/v1/sessions", { ...begin, directory: `${project}/none` })
    expect(nowhere).toMatchObject({
      status: 422,
      json: { type: "urn:skein:NoDirectory", detail: expect.stringContaining(`${project}/none`) }
    })
    for (const path of ["agents", "agents/build", "commands", "skills", "models", "instructions", "config"]) {
      expect(await second.send(`/v1/${path}?${about}&session=${id}`), path).toMatchObject({ status: 200 })
    }
    first.child.kill("SIGKILL")
    await first.ended
    // It cannot know what the dead server has.
    expect((await second.send("/v1/sessions", begin)).json.type).toMatch(/:(NoDirectory|RunnerLost)$/)
    const away = await second.at.run(["run", "--attach", second.url, "-s", id, "More"])
    expect(away.code).toBe(1)
    expect(away.stderr).toMatch(/on the host alpha, and no server of this cluster is/)
  })
}
