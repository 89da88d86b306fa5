/** Divides modules among subagents: few subagents, parts of similar size, few places each. */
import { familyOf, folderOf, languageOf } from "./language.ts"
import { label, type Module } from "./modules.ts"

/** What one subagent surveys. */
export interface Part {
  readonly label: string
  readonly modules: ReadonlyArray<Module>
}

/** More subagents than this gain nothing. */
const most = 12

/** The maximum number of places for one subagent. */
const places = 3

const placesOf = (modules: ReadonlyArray<Module>): number =>
  new Set(modules.map(({ path }) => (path.endsWith("/") ? path : `${folderOf(path)}/*`))).size

const filesOf = (modules: ReadonlyArray<Module>): number => modules.reduce((sum, each) => sum + each.files.length, 0)

/** A few words for people: the path of one module, the last names of several. */
const nameOf = (modules: ReadonlyArray<Module>): string => {
  const [first] = modules
  if (first !== undefined && modules.length === 1) return label(first.path)
  const names = modules.map(({ path }) => (path.endsWith("/*") ? label(path) : label(path).split("/").at(-1) ?? ""))
  return names.length <= 3 ? names.join(", ") : `${names.slice(0, 2).join(", ")}, …`
}

/** Groups modules into parts. It joins the smallest neighbours first. */
export const partsOf = (modules: ReadonlyArray<Module>): ReadonlyArray<Part> => {
  const files = filesOf(modules)
  const count = files < 6 ? 1 : Math.min(most, Math.max(3, Math.ceil(files / 6)))
  const groups = modules.map((module): ReadonlyArray<Module> => [module])
  while (groups.length > count) {
    let best = -1
    let least = Infinity
    for (let i = 0; i + 1 < groups.length; i++) {
      const both = [...(groups[i] ?? []), ...(groups[i + 1] ?? [])]
      if (placesOf(both) <= places && filesOf(both) < least) {
        best = i
        least = filesOf(both)
      }
    }
    if (best < 0) break
    groups.splice(best, 2, [...(groups[best] ?? []), ...(groups[best + 1] ?? [])])
  }
  return groups.map((group) => ({ label: nameOf(group), modules: group }))
}

/** The known languages of modules, most frequent first. */
export const languagesOf = (modules: ReadonlyArray<Module>): ReadonlyArray<string> => {
  const counts = new Map<string, number>()
  for (const file of modules.flatMap((module) => module.files)) {
    if (familyOf(file) === undefined) continue
    counts.set(languageOf(file), (counts.get(languageOf(file)) ?? 0) + 1)
  }
  return [...counts].toSorted((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([language]) => language)
}
