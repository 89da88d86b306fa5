/** Says that the server does not answer, since when what is shown is old, and which other servers there are. */
import { now } from "../state/clock.ts"
import { connection, heard, isOld } from "../state/current.ts"
import { others } from "../state/servers.ts"

const timeOf = (milliseconds: number): string => new Date(milliseconds).toLocaleTimeString()

/** The time at which the server was heard last, as it is shown. */
export const heardTime = (): string => timeOf(heard.value)

/** The notice; nothing while the server answers. */
export const Old = () => {
  // Evaluated once a second, because a server that is silent changes nothing.
  void now.value
  void connection.value
  if (!isOld.value) return null
  const { pathname, search } = location
  return (
    <div class="notice problem" role="alert">
      The server {location.host} does not answer. What you see is as it was at {heardTime()}.
      {others.value.length > 0 && (
        <>
          {" "}Other servers of the cluster go on:{" "}
          <ul class="others">
            {others.value.map((url) => (
              <li key={url}>
                <a href={`${url}${pathname}${search}`} target="_self">{url.replace(/^https?:\/\//, "")}</a>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  )
}
