/** Seats: how many streams all tabs of a browser hold open together. Over HTTP/1.1 it has six connections per host. */

const SEATS = 3;
const FREE = () => {};

/** A function that gives the seat back, or null while other tabs have all; a tab that is closed leaves its seat. */
export async function seat(locks = navigator.locks) {
  if (!locks) return FREE; // Pages without TLS, except on this machine: nothing is shared between tabs.
  for (let number = 0; number < SEATS; number++) {
    const leave = await new Promise((taken, failed) => {
      const hold = (lock) => (lock ? new Promise((leave) => taken(leave)) : taken(null));
      locks.request(`agui-stream-${number}`, { ifAvailable: true }, hold).catch(failed);
    });
    if (leave) return leave;
  }
  return null;
}
