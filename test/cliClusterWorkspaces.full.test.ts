/**
 * `workspace: git`: a tree whose host is gone continues on another host, with its last step from a repository that both reach.
 * Servers on hosts with different names, each in its own namespace of names and mounts; what hosts do not share is hidden.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { onHost, startHosts } from "./support/hosts.ts"
import { startLlm } from "./support/llm.ts"
import { startServer } from "./support/server.ts"
import { until } from "./support/until.ts"

vi.setConfig({ testTimeout: 300_000 })

const postgres = await startHosts()

const git = (directory: string, ...line: ReadonlyArray<string>) =>
  execFileSync("git", ["-C", directory, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", ...line], {
    encoding: "utf8"
  }).trim()

if (typeof postgres === "string") {
  it.skip(postgres, () => undefined)
} else {
  afterAll(postgres.stop)
  let databases = 0

  /** What each request of the model is answered with, in order; the last one again and again. */
  interface Answer {
    readonly writes?: Readonly<Record<string, string>>
    readonly bash?: string
    /** A task for a subagent. */
    readonly task?: string
    readonly hangs?: true
    /** Before the answer. */
    readonly after?: () => Promise<void>
  }

  /** A repository with a commit on the host `alpha`, a session in it, and a way to start servers. */
  const atAlpha = async (answers: ReadonlyArray<Answer>) => {
    const database = `workspaces_${++databases}`
    await postgres.create(database)
    const llm = await startLlm(async () => {
      const { after, bash, hangs, task, writes = {} } = answers[llm.requests.length - 1] ?? {}
      await after?.()
      if (hangs === true) return { hangs }
      const calls = [
        ...Object.entries(writes).map(([filePath, content]) => ({ tool: "write", args: { filePath, content } })),
        ...(task === undefined
          ? []
          : [{ tool: "task", args: { subagent_type: "general", description: "Work", prompt: task } }]),
        ...(bash === undefined ? [] : [{ tool: "bash", args: { command: bash, description: "Work" } }])
      ]
      return calls.length === 0 ? "All is done." : { calls }
    })
    atEnd(llm.close)
    const shared = sandbox()
    atEnd(shared.remove)
    const remote = join(shared.home, "remote.git")
    git(shared.home, "init", "--quiet", "--bare", remote)
    // The repository takes no pushes while there is a file.
    const closed = join(remote, "closed")
    writeFileSync(join(remote, "hooks", "pre-receive"), `#!/bin/sh\n[ ! -e '${closed}' ]\n`)
    chmodSync(join(remote, "hooks", "pre-receive"), 0o755)
    const kept = { workspace: "git", workspace_remote: remote }
    const place = (name: string, hidden?: string, settings: object = kept) => {
      const at = sandbox({ llm: llm.url, through: onHost(name, hidden) })
      const config = join(at.home, "config", "skein")
      mkdirSync(config, { recursive: true })
      const permission = { edit: "allow", bash: "allow", task: "allow" }
      writeFileSync(join(config, "skein.json"), JSON.stringify({ permission, sandbox: "off", ...settings }))
      return at
    }
    const serve = async (at: ReturnType<typeof place>) => {
      const server = await startServer(at, ["--cluster", "--db", postgres.url(database)])
      atEnd(async () => {
        server.child.kill("SIGKILL")
        await server.ended
        at.remove()
      })
      return { ...server, at, db: postgres.url(database), name: database }
    }
    const home = place("alpha")
    const { project } = home
    git(project, "checkout", "--quiet", "-b", "work")
    writeFileSync(join(project, "a.txt"), "first\n")
    writeFileSync(join(project, ".gitignore"), "*.log\n")
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "-m", "one")
    // What the user has besides: an uncommitted change, a staged one, a new file, an ignored one.
    writeFileSync(join(project, "a.txt"), "changed\n")
    writeFileSync(join(project, "staged.txt"), "staged\n")
    git(project, "add", "staged.txt")
    writeFileSync(join(project, "new.txt"), "new\n")
    writeFileSync(join(project, "x.log"), "ignored\n")
    const first = await serve(home)
    const model = { providerID: "openai", modelID: "m" }
    const { json: { id, workspace } } = await first.send("/v1/sessions", { directory: project, title: "t", model })
    expect(workspace).toEqual({ remote, inside: "" })
    const go = async () =>
      expect(await first.send(`/v1/sessions/${id}/prompt`, { text: "Go" })).toMatchObject({ status: 202 })
    const ref = `refs/skein/${id}`
    /** The files of the last step that is kept. */
    const files = () => {
      const { status, stdout } = spawnSync("git", ["-C", remote, "ls-tree", "-r", "--name-only", ref], {
        encoding: "utf8"
      })
      return status === 0 ? stdout.trim().split("\n") : []
    }
    const untilKept = async (name: string) => void await until(() => files().includes(name))
    const info = async (server: typeof first) => (await server.send(`/v1/sessions/${id}`)).json
    const messages = async (server: typeof first) =>
      JSON.stringify((await server.send(`/v1/sessions/${id}/messages`)).json)
    const done = async (server: typeof first) => {
      while (!(await messages(server)).includes("All is done."));
    }
    const kill = async () => {
      first.child.kill("SIGKILL")
      await first.ended
    }
    return { closed, done, files, first, go, id, info, kill, llm, place, project, ref, remote, serve, untilKept }
  }

  it("a tree continues on another host with the files of its last step, and its agent knows", async () => {
    const { done, first, go, id, info, kill, llm, place, project, serve, untilKept } = await atAlpha([
      { writes: { "b.txt": "by the agent\n" } },
      { hangs: true }
    ])
    const listed = () => git(project, "--no-optional-locks", "status", "--porcelain").split("\n")
    const before = listed()
    const index = readFileSync(join(project, ".git", "index"))
    const refs = git(project, "for-each-ref")
    await go()
    await untilKept("b.txt")
    await llm.asked(2)
    expect(listed().filter((line) => !before.includes(line))).toEqual(["?? b.txt"])
    expect(readFileSync(join(project, ".git", "index")).equals(index)).toBe(true)
    expect(git(project, "for-each-ref")).toBe(refs)

    const second = await serve(place("beta", project))
    await kill()
    await done(second)
    expect((await second.send("/v1/cluster")).json.takeovers).toMatchObject([
      { rootID: id, why: "died", from: first.url, to: second.url }
    ])
    const { directory, host, workspace } = await info(second)
    expect(host).toBe("beta")
    expect(workspace.from).toMatchObject({ host: "alpha", directory: project })
    expect(directory.startsWith(join(second.at.home, "data", "skein", "workspaces"))).toBe(true)
    expect(statSync(join(directory, "..")).mode & 0o777).toBe(0o700)
    expect(readdirSync(directory).toSorted()).toEqual([".git", ".gitignore", "a.txt", "b.txt", "new.txt", "staged.txt"])
    expect(readFileSync(join(directory, "a.txt"), "utf8")).toBe("changed\n")
    expect(git(directory, "branch", "--show-current")).toBe("work")
    expect(git(directory, "log", "--format=%s")).toBe("one")
    expect(git(directory, "status", "--porcelain")).toBe("M a.txt\n?? b.txt\n?? new.txt\n?? staged.txt")
    const { last, user } = llm.requests.at(-1) ?? {}
    expect(user?.concat(last ?? "").join("\n")).toContain(
      `The host alpha is gone, and this session now works on another one. Its directory was ${project}. It is now ${directory}`
    )
    expect(user?.join("\n")).toContain("no call that may have changed files has ended since")
    expect(JSON.stringify(llm.requests.at(-1)?.messages[0])).toContain(`Working directory: ${directory}`)
    expect(listed().filter((line) => !before.includes(line))).toEqual(["?? b.txt"])
  })

  it("an agent reads which changes may be missing, if the last step was not kept", async () => {
    const here = await atAlpha([
      {
        writes: { "b.txt": "by the agent\n" },
        after: async () => {
          await here.untilKept("a.txt")
          writeFileSync(here.closed, "")
        }
      },
      { hangs: true }
    ])
    const { done, files, first, go, info, kill, llm, place, project, serve } = here
    await go()
    await llm.asked(2)
    while ((await info(first)).workspace.failure === undefined);
    expect((await info(first)).workspace.failure).toContain("pre-receive hook declined")
    expect(first.output()).toContain("is not kept for other hosts")
    const second = await serve(place("beta", project))
    await kill()
    await done(second)
    const { directory, host } = await info(second)
    expect(host).toBe("beta")
    expect(files()).not.toContain("b.txt")
    expect(readdirSync(directory).toSorted()).toEqual([".git", ".gitignore", "a.txt", "new.txt", "staged.txt"])
    expect(llm.requests.at(-1)?.user.join("\n")).toMatch(
      /Changes of these calls may be missing, because they were not kept in time:\n- write: .*b\.txt \(completed\)\n/
    )
  })

  it("an agent reads that a call was under way, and gets the files of the step before", async () => {
    const { done, go, info, kill, llm, place, project, serve, untilKept } = await atAlpha([
      { writes: { "b.txt": "by the agent\n" } },
      { after: () => untilKept("b.txt"), bash: "echo half > half.txt && touch begun && tail -f /dev/null" }
    ])
    await go()
    await until(() => existsSync(join(project, "begun")))
    const second = await serve(place("beta", project))
    await kill()
    await done(second)
    const { directory } = await info(second)
    expect(readdirSync(directory)).toContain("b.txt")
    expect(readdirSync(directory)).not.toContain("half.txt")
    expect(existsSync(join(project, "half.txt"))).toBe(true)
    const said = JSON.stringify(llm.requests.at(-1)?.messages)
    expect(said).toMatch(/may be missing, because they were not kept in time:\\n- bash: .* \(under way\)/)
  })

  it("a host that comes back keeps its files, and its server knows where the tree is", async () => {
    const { done, files, first, go, id, info, llm, place, project, ref, remote, serve, untilKept } = await atAlpha([
      { writes: { "b.txt": "by the agent\n" } },
      { hangs: true },
      {},
      { writes: { "c.txt": "elsewhere\n" } }
    ])
    await go()
    await untilKept("b.txt")
    await llm.asked(2)
    const second = await serve(place("beta", project))
    first.child.kill("SIGSTOP")
    await done(second)
    expect(git(remote, "log", "-1", "--format=%B", ref)).toMatch(/Skein-Epoch: [2-9]/)
    const before = readdirSync(project)
    first.child.kill("SIGCONT")
    expect(await first.send(`/v1/sessions/${id}/prompt`, { text: "More" })).toMatchObject({ status: 202 })
    await untilKept("c.txt")
    const { directory, host, workspace } = await info(first)
    expect({ host, from: workspace.from.host }).toEqual({ host: "beta", from: "alpha" })
    expect(readdirSync(directory)).toContain("c.txt")
    expect(readdirSync(project)).toEqual(before)
    const shown = await first.at.run(["sessions", "show", id, "--db", second.db])
    expect(shown.stdout + shown.stderr).toContain(`${directory} on the host beta`)
    expect(await second.send(`/v1/sessions/${id}`, undefined, "DELETE")).toMatchObject({ status: 204 })
    await until(() => files().length === 0)
  })

  it("a prompt moves a tree in which nobody works, and a host that did not ask for it moves nothing", async () => {
    const { done, go, id, info, kill, first, llm, place, project, serve, untilKept } = await atAlpha([
      { writes: { "b.txt": "by the agent\n" } }
    ])
    await go()
    await untilKept("b.txt")
    await done(first)
    const second = await serve(place("beta", project, {}))
    await kill()
    const asked = llm.requests.length
    let refused
    do refused = await second.send(`/v1/sessions/${id}/prompt`, { text: "More" })
    while (refused.status !== 503)
    expect(refused.json).toMatchObject({ title: "HostAway" })
    expect(llm.requests).toHaveLength(asked)
    const third = await serve(place("gamma", project))
    expect(await third.send(`/v1/sessions/${id}/prompt`, { text: "More" })).toMatchObject({ status: 202 })
    await llm.asked(asked + 1)
    expect(llm.requests.at(-1)?.user.join("\n")).toContain("this session now works on another one")
    expect((await info(third)).host).toBe("gamma")
  })

  it("a tree is said to wait until one host moves it, and the other host warns of nothing", async () => {
    const { done, go, id, kill, place, project, serve, untilKept } = await atAlpha([
      { writes: { "b.txt": "by the agent\n" } },
      { hangs: true }
    ])
    await go()
    await untilKept("b.txt")
    const others = [await serve(place("beta", project)), await serve(place("gamma", project))]
    await kill()
    const [beta] = others
    const status = async () => (await beta!.send("/v1/sessions")).json.items[0].status
    await until(async () => (await status()).type === "away")
    expect(await status()).toMatchObject({ type: "away", host: "alpha", directory: project })
    expect((await beta!.send("/v1/cluster")).json.waiting).toMatchObject([{ rootID: id, host: "alpha" }])
    await done(beta!)
    await until(async () => (await status()).type !== "away")
    // The other one tries to move it at about the same time.
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    for (const { output } of others) expect(output()).not.toContain("no server of this cluster is there")
  })

  it("subagents at work move with their tree", async () => {
    const { done, go, id, info, kill, llm, place, project, serve, untilKept } = await atAlpha([
      { task: "Do your part" },
      { writes: { "c.txt": "by a subagent\n" } },
      { hangs: true, after: () => untilKept("c.txt") }
    ])
    await go()
    await llm.asked(3)
    await untilKept("c.txt")
    const second = await serve(place("beta", project))
    await kill()
    await done(second)
    const { directory } = await info(second)
    expect(readFileSync(join(directory, "c.txt"), "utf8")).toBe("by a subagent\n")
    const { json: { items } } = await second.send(`/v1/sessions/${id}/children`)
    expect(items.map((child: { directory: string }) => child.directory)).toEqual([directory])
    const resumed = llm.requests.slice(3).find(({ user }) => user.includes("Do your part"))
    expect(resumed?.user.join("\n")).toContain(`It is now ${directory}: use only paths there.`)
  })

  it("what is kept of pruned sessions is removed", async () => {
    const { done, files, first, go, id, untilKept } = await atAlpha([{ writes: { "b.txt": "by the agent\n" } }])
    await go()
    await untilKept("b.txt")
    await done(first)
    while ((await first.send("/v1/cluster")).json.runners.some((each: { trees: number }) => each.trees > 0));
    const old = "\"updated\":1000000000000"
    await postgres.query(
      first.name,
      `UPDATE skein.session SET data = regexp_replace(data, '"updated":[0-9]+', '${old}')`
    )
    const pruned = await first.at.run(["sessions", "prune", "--older-than", "1d", "--db", first.db, "--format", "json"])
    expect(JSON.parse(pruned.stdout).sessions).toEqual([id])
    expect(files()).toEqual([])
  })
}
