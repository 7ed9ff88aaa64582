// Turns the times in which disruption budgets apply into bars for each day of a week. The functions have no state.

export interface Bar {
  /** Index of the budget in the list of budgets. */
  budget: number;
  /** Hours since midnight, 0 to 24. */
  from: number;
  to: number;
}

export interface Day {
  start: number;
  bars: Bar[];
}

const hour = 3_600_000;

/**
 * Returns the day of now and the six days after it, in the time zone of the browser, each with the parts of windows on that day.
 */
export function week(budgets: { windows: [string, string][] }[], now: number): Day[] {
  const days: Day[] = [];
  for (let d = 0; d < 7; d++) {
    const midnight = new Date(now);
    midnight.setHours(0, 0, 0, 0);
    midnight.setDate(midnight.getDate() + d);
    const next = new Date(midnight);
    next.setDate(next.getDate() + 1);
    const [a, b] = [midnight.getTime(), next.getTime()];
    const bars: Bar[] = [];
    budgets.forEach((budget, i) => {
      for (const [from, to] of budget.windows) {
        const start = Math.max(a, Date.parse(from));
        const end = Math.min(b, Date.parse(to));
        if (end > start) bars.push({ budget: i, from: Math.min(24, (start - a) / hour), to: end === b ? 24 : Math.min(24, (end - a) / hour) });
      }
    });
    days.push({ start: a, bars });
  }
  return days;
}
