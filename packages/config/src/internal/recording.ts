/** A file system that records the requested paths. */
import type * as FileSystem from "@effect/platform/FileSystem"

const asking: ReadonlySet<PropertyKey> = new Set(["stat", "readFile", "readDirectory", "realPath"])

/** The same file system; adds every requested path to `paths`, existing or not. */
export const recording = (fs: FileSystem.FileSystem, paths: Set<string>): FileSystem.FileSystem =>
  new Proxy(fs, {
    get: (target, name, receiver): unknown => {
      const member: unknown = Reflect.get(target, name, receiver)
      if (!asking.has(name) || typeof member !== "function") return member
      return (path: string, ...rest: ReadonlyArray<unknown>): unknown => {
        paths.add(path)
        return Reflect.apply(member, target, [path, ...rest])
      }
    }
  })
