/** Finds the skill folders for a directory, reads them, and decides which one of a name wins. */
import * as FileSystem from "@effect/platform/FileSystem"
import type { SkillInfo, SkillList } from "@skein/core/Instructions"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { join } from "node:path"
import type { ConfigIssue } from "./ConfigError.ts"
import { DataDirs } from "./DataDirs.ts"
import { definedIn, failed, lastOfEach } from "./internal/definition.ts"
import { type Grants, isThere, noGrants, placesOf, type ProjectFiles, projectFiles } from "./internal/projectFiles.ts"
import type { SkillContent } from "./internal/skillFile.ts"
import type { TrustItem } from "./TrustItem.ts"

/** Skills, and warnings about ignored parts of their files. */
export interface LoadedSkills extends SkillList {
  readonly warnings: ReadonlyArray<ConfigIssue>
  /** The linked files that the user's rules ask about, trusted or not; see `Trust`. */
  readonly widenings: ReadonlyArray<TrustItem>
}

/** The directories of other tools' skills, lowest priority first. */
const foreignHomes = [
  join(".agents", "skills"),
  join(".claude", "skills"),
  join(".opencode", "skill"),
  join(".opencode", "skills")
]

/** The maximum depth of skill folders inside other folders. */
const deepest = 4

/**
 * Reads the skills for a directory: folders with a `SKILL.md`. Of several with one name the nearest wins: the directory
 * before those above it, the project before the user, and in one directory `.skein/skills` before those of OpenCode,
 * Claude Code and `.agents`. A broken skill of Skein wins as well: it is reported, and nothing replaces it. An unusable
 * skill of another tool is left out, with a warning. `grants` are those of the loaded config.
 */
export const load = Effect.fn("SkillFiles.load")(function*(
  directory: string,
  grants: Grants = noGrants
) {
  const dirs = yield* DataDirs
  const places = yield* placesOf(directory, dirs.config)
  const found: Array<SkillContent> = []
  const warnings: Array<ConfigIssue> = []
  const asked: Array<TrustItem> = []

  const readHome = Effect.fnUntraced(function*(home: string, isForeign: boolean, project?: ProjectFiles) {
    if (!(yield* isThere(home))) return
    const { readForeignSkill, readSkillFile } = yield* Effect.promise(() => import("./internal/skillFile.ts"))
    const own = new Map<string, SkillContent>()
    for (const { folder, name } of yield* foldersIn(home, isForeign ? deepest : 1)) {
      const file = join(folder, "SKILL.md")
      const refusal = project === undefined ? undefined : yield* project.refusal(file)
      if (refusal !== undefined) {
        warnings.push({ file, message: `this skill is ignored: ${refusal}` })
        continue
      }
      const content = yield* isForeign ? readForeignSkill(folder, name) : readSkillFile(folder, name)
      const before = own.get(content.name)
      if (isForeign && Either.isLeft(content.said)) warnings.push(...content.said.left)
      else if (before === undefined || isForeign) own.set(content.name, before ?? content)
      else own.set(content.name, twice(content, before))
      if (isForeign && before !== undefined) warnings.push(second(content, before))
    }
    found.push(...own.values())
  })

  yield* readHome(join(places.user, "skills"), false)
  for (const place of places.project) {
    const project = projectFiles({ root: places.root ?? place, directory, data: dirs.data, grants })
    for (const home of foreignHomes) yield* readHome(join(place, home), true, project)
    yield* readHome(join(place, ".skein", "skills"), false, project)
    asked.push(...project.asked)
  }
  return { ...settle(found, warnings), widenings: asked } satisfies LoadedSkills
})

/** The folders with a `SKILL.md`; they contain no further skills. */
const foldersIn = Effect.fnUntraced(function*(home: string, depth: number) {
  const fs = yield* FileSystem.FileSystem
  const found: Array<{ readonly folder: string; readonly name: string }> = []
  const walk = (directory: string, left: number): Effect.Effect<void, never, FileSystem.FileSystem> =>
    Effect.gen(function*() {
      for (const name of (yield* Effect.orElseSucceed(fs.readDirectory(directory), () => [])).toSorted()) {
        if (name.startsWith(".") || name === "node_modules") continue
        const folder = join(directory, name)
        if (yield* isThere(join(folder, "SKILL.md"))) found.push({ folder, name })
        else if (left > 1) yield* walk(folder, left - 1)
      }
    })
  yield* walk(home, depth)
  return found
})

const second = ({ name, origin }: SkillContent, before: SkillContent): ConfigIssue => ({
  file: origin,
  key: "name",
  message: `this skill is left out: ${definedIn(name, before)}`,
  kind: "left_out"
})

const twice = ({ name, origin }: SkillContent, before: SkillContent): SkillContent =>
  failed(name, origin, [{ file: origin, key: "name", message: `the skill ${definedIn(name, before)}` }])

const byName = (a: { readonly name: string }, b: { readonly name: string }) => (a.name < b.name ? -1 : 1)

const settle = (
  found: ReadonlyArray<SkillContent>,
  warned: ReadonlyArray<ConfigIssue>
): Omit<LoadedSkills, "widenings"> => {
  const { broken, usable, warnings } = lastOfEach(found, warned)
  return {
    skills: usable.map(({ hides, name, origin, value }): SkillInfo => ({ name, ...value, origin, hides })).toSorted(
      byName
    ),
    broken: broken.toSorted(byName),
    warnings
  }
}
