// Numbers, times and sizes as people read them.

// Making a format takes far longer than using it.
const PLAIN = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });
const WHOLE = new Intl.NumberFormat("en");
const SHARES = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

/** A number with at most six digits that matter; a whole one with all of its own. */
export function number(value) {
  if (value === null || value === undefined) return "nothing";
  if (value !== 0 && (Math.abs(value) >= 1e9 || Math.abs(value) < 1e-4)) return value.toExponential(3);
  return (Number.isInteger(value) ? WHOLE : PLAIN).format(value);
}

export function percent(share) {
  return `${SHARES.format(100 * share)} %`;
}

/** The bar in words: [101.2, 102.2] at 95 % confidence; of a deferred answer for 95 % of the time. */
export function interval(answer) {
  if (answer.value === null) return "no bar";
  const low = answer.low === null ? "unbounded" : number(answer.low);
  const high = answer.high === null ? "unbounded" : number(answer.high);
  const deferred = [answer.basis, ...answer.charges.map((charge) => charge.by)].some((by) => by.startsWith("deferral"));
  const share = percent(answer.confidence);
  const words = deferred ? `for ${share} of the time` : `at ${share} confidence`;
  const sure = answer.confidence < 1 ? ` ${words}` : "";
  return `[${low}, ${high}]${sure}`;
}

/** An answer as it is read aloud. */
export function spoken(answer) {
  const wide = (width) => (width === null ? "without bound" : number(width));
  const paid = answer.charges.map((charge) => `${charge.by} ${wide(charge.width)}`).join(", ");
  const met = answer.contract_met ? "contract met" : "contract not met";
  return `${number(answer.value)} in ${interval(answer)}, ${answer.basis}${paid ? `, widened by ${paid}` : ""}, ${met}`;
}

export function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size = count;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${number(Number(size.toPrecision(3)))} ${units[unit]}`;
}

export function seconds(span) {
  if (span === null || span === undefined) return "none";
  if (span < 1) return `${Math.round(1000 * span)} ms`;
  if (span < 120) return `${number(Number(span.toPrecision(3)))} s`;
  if (span < 7200) return `${Math.round(span / 60)} min`;
  return `${Math.round(span / 3600)} h`;
}

/** The clock of an instant such as 2026-01-01T00:00:09Z. */
export function clock(instant) {
  return instant === null ? "none" : instant.slice(11, 19);
}
