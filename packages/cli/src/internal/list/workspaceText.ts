/** Says where a tree works that can move, or has moved, and whether its last step is kept for other hosts. */
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { escapeLine } from "@skein/tui/Escape"
import { formatTime } from "./print.ts"

const onHost = (host: string | undefined): string =>
  host === undefined ? "another host" : `the host ${escapeLine(host)}`

/** Lines about that; none if its steps are not kept. */
export const workspaceLines = ({ directory, host, workspace }: SessionInfo): ReadonlyArray<string> => {
  if (workspace === undefined) return []
  const { failure, from, remote } = workspace
  return [
    failure === undefined
      ? `steps kept in ${escapeLine(remote)}`
      : `last step not kept in ${escapeLine(remote)}: ${escapeLine(failure)}`,
    ...(from === undefined ? [] : [
      `works in ${escapeLine(directory)} on ${onHost(host)} since ${formatTime(from.at)}; before that in ${
        escapeLine(from.directory)
      } on ${onHost(from.host)}, where its files are left as they were`
    ])
  ]
}
