/** Tells which methods a path has, for requests that come with another one. */
import { Api } from "@skein/api/Api"

interface Known {
  readonly pattern: RegExp
  readonly method: string
}

const known: ReadonlyArray<Known> = Object.values(Api.groups).flatMap((group) =>
  Object.values(group.endpoints).map(({ method, path }) => ({
    method,
    pattern: new RegExp(`^${path.replaceAll(/:[a-zA-Z]+/g, "[^/]+")}$`)
  }))
)

/** The methods of the path of a URL; none where there is no such path. */
export const methodsOf = (url: string): ReadonlyArray<string> => {
  const path = url.split("?", 1)[0] ?? ""
  return known.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
}
