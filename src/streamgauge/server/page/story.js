export function tell(place) {}
