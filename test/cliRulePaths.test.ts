/**
 * The built program with rules that deny paths: each spelling holds for every tool, in the user's config and in files of
 * the project, wherever in the project Skein is started.
 */
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { type Sandbox, sandbox } from "./support/cli.ts"
import { startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 120_000 })

type Call = readonly [tool: string, args: Readonly<Record<string, unknown>>]

/** Runs these calls in a project with these files, and returns the result of each. */
const results = async (
  prepare: (place: Sandbox) => void,
  calls: (place: Sandbox) => ReadonlyArray<Call>,
  directory = "",
  args: ReadonlyArray<string> = []
) => {
  const found: Array<string> = []
  const llm = await startLlm(({ messages }) => {
    const told = messages.filter(({ role }) => role === "tool").map(({ content }) => String(content))
    if (told.length === 0) return { calls: calls(place).map(([tool, given]) => ({ tool, args: given })) }
    found.push(...told)
    return "done"
  })
  const place = sandbox({ llm: llm.url })
  atEnd(llm.close, place.remove)
  prepare(place)
  const { stderr } = await place.run(["run", "-m", "openai/m", "--mode", "edits", ...args, "go"], {
    cwd: join(place.project, directory)
  })
  expect(found, stderr).toHaveLength(calls(place).length)
  return { found, place, stderr }
}

const put = (place: Sandbox, name: string, text: string) => {
  mkdirSync(dirname(join(place.project, name)), { recursive: true })
  writeFileSync(join(place.project, name), text)
}

/** The spellings of a directory of the project, which lies in `src`. */
const spellings: ReadonlyArray<(name: string, place: Sandbox) => string> = [
  (name) => `src/${name}/*`,
  (name) => `src/${name}/**`,
  (name) => `./src/${name}/*`,
  (name) => `src/${name}/`,
  (name) => `src/${name}`,
  (name) => `src/${name}/s.txt`,
  (name) => `**/${name}/**`,
  (name) => `*/${name}/*`,
  (name) => `**/${name}/s.txt`,
  (name) => `~/project/src/${name}/*`,
  (name) => `~/project/src/${name}/**`,
  (name) => `$HOME/project/src/${name}/*`,
  (name) => `\${HOME}/project/src/${name}/*`,
  (name) => `~/*/src/${name}/*`,
  (name, { project }) => join(project, "src", name, "*"),
  (name, { project }) => join(project, "src", name),
  (name, { home }) => join(home, "link", "src", name, "*"),
  (name) => `src/to-${name}/*`
]

const names = spellings.map((_, at) => `dir${at}`)

/** Every tool on the file of each directory. */
const everyTool = (directory: string) => ({ project }: Sandbox): ReadonlyArray<Call> =>
  names.flatMap((name): ReadonlyArray<Call> => {
    const path = relative(join(project, directory), join(project, "src", name, "s.txt"))
    return [
      ["read", { filePath: path }],
      ["bash", { command: `cat ${path}` }],
      ["grep", { pattern: "SEC.ET", path: dirname(path) }],
      ["write", { filePath: path, content: "CHANGED" }],
      ["bash", { command: `echo CHANGED > ${path}` }]
    ]
  })

const prepared = (place: Sandbox, write: (place: Sandbox, patterns: ReadonlyArray<string>) => void) => {
  names.forEach((name) => {
    put(place, `src/${name}/s.txt`, "SECRET")
    symlinkSync(name, join(place.project, "src", `to-${name}`))
  })
  symlinkSync("project", join(place.home, "link"))
  write(place, spellings.map((spelling, at) => spelling(names[at] ?? "", place)))
}

const asRules = (patterns: ReadonlyArray<string>) => {
  const denied = Object.fromEntries(patterns.map((pattern) => [pattern, "deny"]))
  return { permission: { external_directory: "allow", read: denied, edit: denied } }
}

const origins: Readonly<Record<string, (place: Sandbox, patterns: ReadonlyArray<string>) => void>> = {
  "the user's config": (place, patterns) => place.configure(asRules(patterns)),
  "skein.json": (place, patterns) => put(place, "skein.json", JSON.stringify(asRules(patterns))),
  "an agent of the project": (place, patterns) =>
    put(
      place,
      ".skein/agent/build.md",
      `---\ndescription: Builds\npermission: ${JSON.stringify(asRules(patterns).permission)}\n---\nBuild.`
    )
}

describe.each(Object.keys(origins))("rules in %s deny a directory in every spelling", (origin) => {
  it.each(["", "src", "src/dir0"])("to a session in /%s", async (directory) => {
    const { found, place } = await results(
      (each) => prepared(each, origins[origin] ?? (() => undefined)),
      everyTool(directory),
      directory,
      // The sandbox has a private /tmp, where these projects are.
      ["--sandbox", "off"]
    )
    const calls = everyTool(directory)(place)
    const open = calls.flatMap(([tool, input], at) => {
      const name = names[Math.floor(at / 5)] ?? ""
      const spelling = spellings[Math.floor(at / 5)]?.(name, place)
      const text = found[at] ?? ""
      return /denied|No matches/.test(text) && !text.includes("SECRET")
        ? []
        : [[spelling, tool, input, text.slice(0, 80)]]
    })
    expect(open).toEqual([])
    for (const name of names) expect(readFileSync(join(place.project, "src", name, "s.txt"), "utf8")).toBe("SECRET")
  })
})

it.each(["", "src"])("rules of Claude Code's settings hold from /%s", async (directory) => {
  const rules = (
    place: Sandbox
  ) => ["./src/dir0/**", "src/dir1/**", "/src/dir2/**", "~/project/src/dir3/**", `/${place.project}/src/dir4/**`]
  const paths = [0, 1, 2, 3, 4].map((at) => `${directory === "" ? "src/" : ""}dir${at}/s.txt`)
  const { found } = await results(
    (place) => {
      for (const at of [0, 1, 2, 3, 4]) put(place, `src/dir${at}/s.txt`, "SECRET")
      const deny = rules(place).flatMap((each) => [`Read(${each})`, `Edit(${each})`])
      put(place, ".claude/settings.json", JSON.stringify({ permissions: { deny } }))
    },
    () =>
      paths.flatMap((path): ReadonlyArray<Call> => [
        ["read", { filePath: path }],
        ["bash", { command: `cat ${path}` }],
        ["write", { filePath: path, content: "x" }]
      ]),
    directory
  )
  expect(found.filter((text) => !text.includes("denied"))).toEqual([])
})

it("a refusal names the rule and its file, or the mode, and the stored call has the rule", async () => {
  const calls: ReadonlyArray<Call> = [["write", { filePath: "gen/a.txt", content: "x" }]]
  const { found, place } = await results(
    (each) => put(each, "skein.json", `{\n  "permission": {\n    "edit": { "./gen/*": "deny" }\n  }\n}\n`),
    () => calls
  )
  const file = join(place.project, "skein.json")
  expect(found).toEqual([
    `Permission denied: a rule forbids edit (gen/a.txt) here: "edit": {"gen/*": "deny"} in ${file}:3.`
  ])
  const [{ id }] = JSON.parse((await place.run(["sessions", "--format", "json"])).stdout)
  const { stdout } = await place.run(["sessions", "export", id])
  const rule = { permission: "edit", pattern: "gen/*", action: "deny", origin: `${file}:3` }
  expect(JSON.stringify(JSON.parse(stdout))).toContain(JSON.stringify({ mode: "edits", rules: [rule] }))
  const planned = await results(() => undefined, () => calls, "", ["--mode", "plan"])
  expect(planned.found).toEqual(["Permission denied: plan mode forbids edit (gen/a.txt) here."])
})

it("git neither shows nor replaces a denied file in another directory of the project", async () => {
  const git = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
  const { found } = await results(
    (place) => {
      put(place, "priv/s.txt", "SECRET")
      put(place, "src/a.txt", "a")
      spawnSync("git", ["add", "-A"], { cwd: place.project })
      spawnSync("git", [...git, "commit", "-qm", "first"], { cwd: place.project })
      put(place, "priv/s.txt", "CHANGED")
      place.configure({
        permission: { ...asRules(["priv/*"]).permission, bash: "allow" }
      })
    },
    () => [["bash", { command: "git log -p" }], ["bash", { command: "git -C .. show -- priv" }], ["bash", {
      command: "git reset -q --hard"
    }]],
    "src",
    ["--sandbox", "off"]
  )
  expect(found).toEqual([
    expect.stringMatching(/a rule forbids read \(.*priv\/s\.txt\)/),
    expect.stringMatching(/a rule forbids read \(.*priv\/s\.txt\)/),
    expect.stringMatching(/a rule forbids edit \(.*priv\/s\.txt\)/)
  ])
})

it.each(["project", "wt"])("a rule for a path holds in every checkout of the repository, from ~/%s", async (start) => {
  const git = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
  const denied = { one: "~/project/one", two: "~/project/two/**", three: "three", four: "~/wt/four" }
  const calls = ({ home }: Sandbox) =>
    ["project", "wt"].flatMap((tree) =>
      Object.keys(denied).flatMap((name): ReadonlyArray<Call> => {
        const path = join(home, tree, name, "s.txt")
        return [
          ["read", { filePath: path }],
          ["bash", { command: `cat ${path}` }],
          ["grep", { pattern: "SEC.ET", path: dirname(path) }],
          ["write", { filePath: path, content: "CHANGED" }],
          ["bash", { command: `touch ${join(dirname(path), "new.txt")}` }]
        ]
      })
    )
  const { found, place } = await results(
    (each) => {
      for (const name of Object.keys(denied)) put(each, `${name}/s.txt`, "SECRET")
      spawnSync("git", ["add", "-A"], { cwd: each.project })
      spawnSync("git", [...git, "commit", "-qm", "first"], { cwd: each.project })
      spawnSync("git", ["worktree", "add", "-q", "../wt"], { cwd: each.project })
      each.configure(asRules(Object.values(denied)))
    },
    calls,
    join("..", start),
    ["--sandbox", "off"]
  )
  const open = calls(place).filter((_, at) =>
    !/denied|No matches/.test(found[at] ?? "") || found[at]?.includes("SECRET")
  )
  expect(open).toEqual([])
})

it("a rule of a file in a directory is relative to that directory", async () => {
  const { found, place } = await results(
    (each) => {
      put(each, "src/skein.json", JSON.stringify(asRules(["gen/*"])))
      put(each, "src/gen/a.txt", "SECRET")
      put(each, "gen/a.txt", "open")
      put(each, "src/deep/a.txt", "a")
    },
    () => [
      ["read", { filePath: "../gen/a.txt" }],
      ["write", { filePath: "../gen/new.txt", content: "x" }],
      ["bash", { command: "cat ../../gen/a.txt" }]
    ],
    "src/deep",
    ["--sandbox", "off"]
  )
  expect(found.map((text) => text.includes("denied: a rule"))).toEqual([true, true, false])
  expect(existsSync(join(place.project, "src/gen/new.txt"))).toBe(false)
})
