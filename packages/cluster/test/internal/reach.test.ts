import { describe, expect, it } from "@effect/vitest"
import { outOfReach } from "../../src/internal/members.ts"

const server = (url: string, host: string, boot: string) => ({ url, owner: `${host}:7:1:${boot}:x` })
const why = (...[own, other]: Parameters<typeof outOfReach>) => outOfReach(own, other)?.message

describe("two servers with addresses of one machine alone", () => {
  const own = server("http://127.0.0.1:4096", "alpha", "b1.4")

  it("are refused on different machines, whichever of them names it", () => {
    const far = server("http://127.0.0.1:4096", "beta", "b2.4")
    expect(why(own, far)).toContain("Only this machine reaches http://127.0.0.1:4096")
    expect(why(own, far)).toContain("http://127.0.0.1:4096 on the host beta. Name an address")
    expect(why(own, server("http://10.0.0.2:4096", "beta", "b2.4"))).toContain("Only this machine")
    expect(why(server("http://10.0.0.1:4096", "alpha", "b1.4"), far)).toContain("only its own machine reaches")
    expect(why(server("http://[::1]:1", "alpha", "-"), server("http://10.0.0.2:1", "beta", "-"))).toBeDefined()
  })

  it("work together on one machine, and so do others anywhere", () => {
    expect(why(own, server("http://127.0.0.1:4097", "alpha", "b1.5"))).toBeUndefined()
    expect(why(own, server("http://127.0.0.1:4097", "other-name", "b1.4"))).toBeUndefined()
    expect(why(server("http://[::1]:1", "alpha", "-"), server("http://[::1]:2", "alpha", "-"))).toBeUndefined()
    const [one, two] = [server("http://10.0.0.1:1", "alpha", "b1.4"), server("http://10.0.0.2:1", "beta", "b2.4")]
    expect(why(one, two)).toBeUndefined()
  })
})
