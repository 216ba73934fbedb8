/**
 * Milliseconds of this process's own CPU that the work took. The clock would also count what the machine did for others meanwhile, and fail on a busy
 * one; bounds on this tell linear work from square, and say nothing about speed (which the benches measure).
 */
export const cpuMilliseconds = async (work: () => unknown): Promise<number> => {
  const before = process.cpuUsage()
  await work()
  const { system, user } = process.cpuUsage(before)
  return (user + system) / 1_000
}
