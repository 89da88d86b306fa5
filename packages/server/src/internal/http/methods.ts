/** Finds the methods of a path, for requests with another method. */
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

/** The methods of a URL's path; empty if there is no such path. */
export const methodsOf = (url: string): ReadonlyArray<string> => {
  const path = url.split("?", 1)[0] ?? ""
  return known.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
}
