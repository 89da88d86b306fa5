/** Which files a path in a rule means, however it is spelt and wherever a session works. */
import { describe, expect, it } from "@effect/vitest"
import { makeSessionPaths, placed, type RulePlace } from "@skein/core/RulePaths"
import { evaluate } from "@skein/core/Ruleset"
import type { Action, Rule } from "@skein/domain/Rule"

/** The links of a file system. */
const links: Readonly<Record<string, string>> = {
  "/link": "/home/ada/proj",
  "/users/ada": "/home/ada",
  "/home/ada/proj/now": "/home/ada/proj/docs",
  "/home/ada/notes": "/data/notes"
}
const real = (path: string): string => {
  const link = Object.keys(links).find((each) => path === each || path.startsWith(`${each}/`))
  return link === undefined ? path : links[link] + path.slice(link.length)
}
const place: RulePlace = {
  roots: ["/home/ada/proj"],
  base: "/home/ada/proj",
  home: "/home/ada",
  keepsHome: true,
  real
}
const patterns = (pattern: string, action: Action, more: Partial<RulePlace> = {}, permission = "read") =>
  placed({ permission, pattern, action }, { ...place, ...more }).map((rule) => rule.pattern)

describe("a pattern", () => {
  it.each<readonly [string, string]>([
    ["priv/*", "priv/*"],
    ["./priv/*", "priv/*"],
    ["priv/", "priv"],
    ["src/../priv//x", "priv/x"],
    ["/home/ada/proj/priv/*", "priv/*"],
    ["~/proj/priv/*", "priv/*"],
    ["$HOME/proj/priv/*", "priv/*"],
    ["${HOME}/proj/priv/*", "priv/*"],
    ["/link/priv/*", "priv/*"],
    ["~/out/*", "~/out/*"],
    ["/etc/*", "/etc/*"],
    ["../other/*", "~/other/*"],
    ["*.env", "*.env"],
    ["**/priv/**", "**/priv/**"],
    ["~/*/priv/*", "~/*/priv/*"],
    // A wildcard at the beginning would mean files everywhere.
    ["~/proj/*", "/home/ada/proj/*"],
    ["./*.md", "/home/ada/proj/*.md"],
    ["~/proj", "/home/ada/proj/"],
    ["~other/x", "~other/x"]
  ])("%s names files as %s", (written, named) => {
    expect(patterns(written, "deny").at(-1)?.replace(/\/$/, "")).toBe(named.replace(/\/$/, ""))
  })

  it("of a file in a directory is relative to that directory", () => {
    const base = "/home/ada/proj/src"
    expect(patterns("secret.txt", "deny", { base })).toEqual(["src/secret.txt"])
    expect(patterns("../x/*", "deny", { base })).toEqual(["x/*"])
    expect(patterns("*.lock", "deny", { base })).toEqual(["*.lock"])
  })

  it("that denies or asks also means what its links lead to, and one that allows does not", () => {
    expect(patterns("now/*", "deny")).toEqual(["now/*", "docs/*"])
    expect(patterns("now/*", "ask")).toEqual(["now/*", "docs/*"])
    expect(patterns("now/*", "allow")).toEqual(["now/*"])
    expect(patterns("~/notes/*", "deny")).toEqual(["~/notes/*", "/data/notes/*"])
    expect(patterns("~/notes/*", "allow")).toEqual(["~/notes/*"])
    expect(patterns("/link/now/*", "allow")).toEqual(["now/*"])
    expect(patterns("docs/", "allow")).toEqual(["docs/*"])
    expect(patterns("/", "allow")).toEqual(["/"])
  })

  it("of a command stays as it is, except for the home", () => {
    expect(patterns("./build.sh *", "deny", {}, "bash")).toEqual(["./build.sh *"])
    expect(patterns("~/bin/x *", "deny", { keepsHome: false }, "bash")).toEqual(["/home/ada/bin/x *"])
    expect(patterns("$HOMEX/x", "deny", { keepsHome: false }, "bash")).toEqual(["$HOMEX/x"])
    expect(patterns("echo $HOME/x", "deny", { keepsHome: false }, "bash")).toEqual(["echo $HOME/x"])
  })

  it("of all permissions counts as written, and for paths as well", () => {
    expect(patterns("./a/*", "deny", {}, "*")).toEqual(["./a/*", "a/*"])
    expect(patterns("./a/*", "allow", {}, "*")).toEqual(["./a/*"])
  })
})

describe("a session", () => {
  const inProject = { projectID: "/home/ada/proj", directory: "/home/ada/proj" }
  const sessions = makeSessionPaths({ home: "/home/ada", real })
  const says = (
    session: Parameters<typeof sessions>[0],
    path: string,
    ...rules: ReadonlyArray<readonly [pattern: string, action: Action, origin?: string]>
  ) => {
    const { namesOf, place: placeAll } = sessions(session)
    const set = rules.map(([pattern, action, origin]): Rule => ({
      permission: "read",
      pattern,
      action,
      ...(origin === undefined ? {} : { origin })
    }))
    return evaluate(placeAll(set), "read", namesOf(path))
  }
  const file = "skein.json:3"

  it("in a directory of a project has the rules of the project, and those that a program gives for the directory", () => {
    const inSource = { ...inProject, directory: "/home/ada/proj/src" }
    expect(says(inSource, "secret.txt", ["src/secret.txt", "deny", file])).toBe("deny")
    expect(says(inSource, "/home/ada/proj/priv/x", ["priv/*", "deny", file])).toBe("deny")
    expect(says(inSource, "secret.txt", ["secret.txt", "deny", file])).toBe(undefined)
    expect(says(inSource, "secret.txt", ["secret.txt", "deny"])).toBe("deny")
    expect(says(inSource, ".", ["src", "deny", file])).toBe("deny")
  })

  it("that was started by way of a link has the same rules", () => {
    const linked = { projectID: "/home/ada/proj", directory: "/link/src" }
    expect(says(linked, "x", ["src/x", "deny", file])).toBe("deny")
    expect(says(linked, "x", ["~/proj/src/*", "deny"])).toBe("deny")
    expect(says(linked, "x", ["/users/ada/proj/src/*", "deny"])).toBe("deny")
  })

  it("in a worktree has the rules for the project, wherever their paths lead", () => {
    const tree = {
      projectID: "/home/ada/proj",
      directory: "/data/trees/1/src",
      worktree: { root: "/data/trees/1", branch: "b" }
    }
    expect(says(tree, "x", ["src/x", "deny", file])).toBe("deny")
    expect(says(tree, "x", ["/home/ada/proj/src/*", "deny", file])).toBe("deny")
    expect(says(tree, "x", ["/home/ada/*/src/*", "deny", file])).toBe("deny")
    expect(says(tree, "/home/ada/proj/src/x", ["src/x", "deny", file])).toBe("deny")
    expect(says(tree, "x", ["src/x", "allow", file])).toBe("allow")
    // The project itself is outside of the worktree.
    expect(says(tree, "/home/ada/proj/src/x", ["src/x", "allow", file])).toBe(undefined)
  })

  it("in one checkout of a repository has the rules that deny for the others, by every name", () => {
    const trees = ["/home/ada/proj", "/home/ada/wt", "/home/ada/proj/.trees/in"]
    const [main, linked, inner] = trees.map((root) => ({ projectID: root, directory: root }))
    const inAll = makeSessionPaths({ home: "/home/ada", real, checkouts: () => trees })
    const config = { ...place, roots: ["/home/ada/wt", "/home/ada/proj"] as const, base: "/home/ada/wt" }
    for (const pattern of ["priv", "~/proj/priv", "~/proj/priv/**", "~/wt/priv", "~/*/priv"]) {
      for (const session of [main, linked, inner]) {
        for (const action of ["deny", "ask"] as const) {
          const rule: Rule = { permission: "read", pattern, action, origin: file }
          for (const rules of [[rule], placed(rule, config)]) {
            const { namesOf, place: placeAll } = inAll(session ?? inProject)
            const said = trees.map((tree) => evaluate(placeAll(rules), "read", namesOf(`${tree}/priv/s.txt`)))
            expect([pattern, session, said]).toEqual([pattern, session, [action, action, action]])
            expect(evaluate(placeAll(rules), "read", namesOf("/home/ada/wt2/open/s.txt"))).toBe(undefined)
          }
        }
      }
    }
    // What a rule allows in one checkout it does not allow in another.
    const { namesOf, place: placeAll } = inAll(main ?? inProject)
    for (const pattern of ["priv/*", "/home/ada/proj/*"]) {
      const rules = placeAll([{ permission: "read", pattern, action: "allow", origin: file }])
      expect(evaluate(rules, "read", namesOf("/home/ada/wt/priv/s.txt"))).toBe(undefined)
    }
    const allowed = placeAll([{ permission: "read", pattern: "/home/ada/wt/*", action: "allow", origin: file }])
    expect(evaluate(allowed, "read", namesOf("priv/s.txt"))).toBe(undefined)
  })

  it("notices a checkout that is made later", () => {
    const trees = ["/home/ada/proj"]
    const inAll = makeSessionPaths({ checkouts: () => trees })
    const says = () => {
      const { namesOf, place: placeAll } = inAll(inProject)
      return evaluate(
        placeAll([{ permission: "read", pattern: "priv", action: "deny" }]),
        "read",
        namesOf("/new/priv/s")
      )
    }
    expect(says()).toBe(undefined)
    trees.push("/new")
    expect(says()).toBe("deny")
  })

  it("is denied what is below a directory that contains its checkout, by the name of that directory", () => {
    const root = "/home/ada/proj/.trees/in"
    const rule: Rule = { permission: "read", pattern: "~/proj/.trees", action: "deny", origin: file }
    const rules = placed(rule, { ...place, roots: [root, "/home/ada/proj"], base: root })
    const { namesOf, place: placeAll } = sessions({ projectID: root, directory: root })
    expect(evaluate(placeAll(rules), "read", namesOf("a"))).toBe("deny")
  })

  it("is denied what is below a directory, and a file at the top by a pattern for any directory", () => {
    for (
      const pattern of ["priv", "priv/", "*/priv", "**/priv/**", "*/priv/*", "/home/ada", "~", "/home/*/proj/priv"]
    ) {
      expect([pattern, says(inProject, "priv/a/s", [pattern, "deny"])]).toEqual([pattern, "deny"])
    }
    expect(says(inProject, "a/b", ["a/**/b", "deny"])).toBe("deny")
    expect(says(inProject, "a/x/y/b", ["a/**/b", "deny"])).toBe("deny")
    expect(says(inProject, "a/xb", ["a/**/b", "deny"])).toBe(undefined)
    // A wildcard in the last name means files, such as those of a directory `.env`.
    expect(says(inProject, ".env/lib/x", ["*.env", "deny"])).toBe(undefined)
    expect(says(inProject, "priv/a", ["priv", "allow"])).toBe(undefined)
    expect(says(inProject, "priv2/a", ["priv", "deny"])).toBe(undefined)
  })

  it("keeps the order of the rules: the last that matches counts", () => {
    expect(says(inProject, "priv/pub/x", ["priv", "deny"], ["priv/pub/*", "allow"])).toBe("allow")
    expect(says(inProject, "priv/pub/x", ["priv/pub/*", "allow"], ["~/proj/priv", "deny"])).toBe("deny")
  })
})
