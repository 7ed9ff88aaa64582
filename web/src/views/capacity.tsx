export function CapacityView() { return <div />; }
